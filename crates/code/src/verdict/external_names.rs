//! Names that the project does not define. The server is asked for the definition of each occurrence, and the definitions
//! outside of the project that it returns become those of the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use syntax::{Class, Kind, Language, bare_name, is_whole, is_word};

use super::{Query, is_judged_by};
use crate::answer::{Candidates, Site, Texts};
use crate::definition::{Definition, is_inside};
use crate::inquiry::{Meaning, Meanings, Name, meanings};
use crate::judgement::{Code, Judgement, Reason, Verdict};
use crate::question::Question;
use crate::search::read;
use crate::target::Target;

/// Verifies the sites of a family, and adds the definitions that they mean.
pub(super) async fn judge_outside(
    asked: &Query<'_>,
    found: &mut Candidates,
    family: &'static str,
    judged: &mut Judgement,
) {
    let is_asked =
        |at: &usize| is_judged_by(&found.sites[*at], family) && asked.wanted.contains(&found.sites[*at].class);
    let sites: Vec<usize> = (0..found.sites.len()).filter(is_asked).collect();
    let name = |at: &usize| {
        let site = &found.sites[*at];
        let word = site.alias.clone().unwrap_or_else(|| found.question.name.clone());
        Name { path: site.path.clone(), at: site.at, word }
    };
    let names: Vec<Name> = sites.iter().map(name).collect();
    let Some(file) = found.sites.iter().find(|site| is_judged_by(site, family)).map(|site| site.path.clone()) else {
        return;
    };
    let Meanings { of, texts } = meanings(&asked.call, family, &file, &names, &found.texts, judged).await;
    for site in found.sites.iter_mut().filter(|site| is_judged_by(site, family)) {
        // Classes that were not requested are not verified.
        site.verdict = Verdict::NotJudged;
    }
    let mut led = Vec::with_capacity(sites.len());
    let mut made = Vec::new();
    for (at, meaning) in sites.into_iter().zip(of) {
        let (site, name) = (&mut found.sites[at], &found.question.name);
        if is_itself(&meaning, site) {
            // The server sees a declaration that the parser missed: it is not a use.
            (site.class, site.verdict) = (Class::Binding, Verdict::NotJudged);
            // A macro makes it, or its text does not parse.
            let kind = if site.tokens.is_some() { Kind::Macro } else { Kind::Unknown };
            made.push(Definition::plain(kind, site.language, (&site.path, site.line, site.at), name.clone()));
            continue;
        }
        site.verdict = match meaning {
            Meaning::External => Verdict::Undecided(Code::OutsideTheRoot),
            Meaning::Undecided(code) => Verdict::Undecided(code),
            Meaning::Is(targets) => match definition_of(&targets, site.language, name, &texts) {
                // A local variable of another file cannot be meant: the parser misread the site.
                None if targets.iter().any(|target| target.is_bound && target.path != site.path) => {
                    Verdict::Undecided(Code::Unparsable)
                }
                // Another definition of the name: a member of another type, or a local variable.
                None => Verdict::Refuted,
                Some(one) => {
                    led.push((at, one));
                    continue;
                }
            },
        };
    }
    let meant = OutsideTargets::from_sites(found, &led);
    if meant.is_unknown && !led.is_empty() {
        let (whole, name) = (&found.question.whole, &found.question.name);
        let text = format!(
            "no `{name}` here is proven to be that of `{whole}`, which may inherit it or import it under another name: ask for `{name}` alone to group its uses by definition"
        );
        judged.doubt(Code::Dynamic, text, 0);
    }
    let (root, mut read_whole) = (&asked.call.scope.root, BTreeMap::new());
    let mut unread: BTreeMap<Code, BTreeMap<Arc<Path>, usize>> = BTreeMap::new();
    for (at, one) in led {
        (found.sites[at].verdict, found.sites[at].meant) = if meant.has(&found.question, &one) {
            (Verdict::Confirmed, Some(number_of(&mut found.definitions, one)))
        } else if is_read(root, &one, &mut read_whole) {
            (Verdict::Refuted, None)
        } else {
            let code = if one.is_outside() { Code::OutsideTheRoot } else { Code::Unparsable };
            *unread.entry(code).or_default().entry(one.path).or_default() += 1;
            (Verdict::Undecided(code), None)
        };
    }
    judged.reasons.extend(unread.into_iter().map(|(code, files)| of_no_type(&found.question, code, &files)));
    // A definition does not use itself.
    for one in made.into_iter().filter(|one| is_inside(&found.question.qualifiers, one)) {
        found.sites.retain(|site| (&site.path, site.at) != (&one.path, one.at));
        number_of(&mut found.definitions, one);
    }
}

/// Explains that unparsable files hide the owners of names, and suggests another question.
fn of_no_type(question: &Question, code: Code, files: &BTreeMap<Arc<Path>, usize>) -> Reason {
    let (name, sites) = (&question.name, files.values().sum());
    let first = files.keys().next().map(|path| project::visible::path(path)).unwrap_or_default();
    let more = if files.len() > 1 { format!(" and {} more", files.len() - 1) } else { String::new() };
    let lead = if sites == 1 { "leads" } else { "lead" };
    let text = format!(
        "{sites} {lead} to {first}{more}, which does not parse completely, so the owner of `{name}` is unknown: ask for `{name}` alone to group its uses by definition"
    );
    Reason { code, text, sites }
}

/// The definitions outside of the project that a question means.
struct OutsideTargets {
    /// Text matches, used if no definition has the question's qualifiers: `console.log` is a method of `Console`.
    by_text: BTreeSet<(Arc<Path>, String)>,
    is_unknown: bool,
}

impl OutsideTargets {
    fn from_sites(found: &Candidates, led: &[(usize, Definition)]) -> OutsideTargets {
        if led.iter().any(|(_, one)| is_inside(&found.question.qualifiers, one)) {
            return OutsideTargets { by_text: BTreeSet::new(), is_unknown: false };
        }
        let behind = |site: &Site| found.question.count_qualifiers(found.text_before(&site.path, site.at));
        // `path` may be a local variable; `os.path` cannot.
        let most = led.iter().map(|(at, _)| behind(&found.sites[*at])).max().unwrap_or_default();
        let so_far = led.iter().filter(|(at, _)| most > 0 && behind(&found.sites[*at]) == most);
        let by_text = so_far.map(|(_, one)| (one.path.clone(), one.label.clone())).collect();
        OutsideTargets { by_text, is_unknown: most == 0 }
    }

    fn has(&self, question: &Question, one: &Definition) -> bool {
        is_inside(&question.qualifiers, one) || self.by_text.contains(&(one.path.clone(), one.label.clone()))
    }
}

fn is_itself(meaning: &Meaning, site: &Site) -> bool {
    let is_here = |target: &Target| target.path == site.path && target.at == site.at;
    let is_use = !matches!(site.class, Class::Import | Class::Export | Class::Binding | Class::Signature);
    is_use && matches!(meaning, Meaning::Is(targets) if targets.iter().any(is_here))
}

/// Returns the definition of a name outside of the project; `None` for its parameters and variables.
fn definition_of(targets: &[Target], language: Language, name: &str, texts: &Texts) -> Option<Definition> {
    let declared = targets.iter().find_map(|target| target.declares.clone());
    declared.or_else(|| {
        let target = targets.iter().find(|target| !target.is_bound)?;
        let stem = |path: &Arc<Path>| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let text = texts.get(&target.path).and_then(|text| text.get(target.at..)).map(bare_name).unwrap_or_default();
        let end = text.iter().position(|byte| !is_word(*byte)).unwrap_or(text.len());
        let word = String::from_utf8_lossy(&text[..end]).into_owned();
        // A module is identified by its file. A target inside of a project file is a declaration that does not parse, or the
        // macro that makes it.
        let (kind, label) = match () {
            () if target.is_outside() || target.at <= 3 || word.is_empty() => {
                (Kind::Module, stem(&target.path).unwrap_or_default())
            }
            () if word == name => (target.stands, word),
            () => (Kind::Macro, word),
        };
        Some(Definition::plain(kind, language, (&target.path, target.line, target.at), label))
    })
}

/// True if the surroundings of a definition could be parsed. New syntax that the grammar lacks would lose them.
fn is_read(root: &Path, one: &Definition, read_whole: &mut BTreeMap<Arc<Path>, bool>) -> bool {
    let until = Instant::now() + Duration::from_secs(1);
    let is_whole = || read(&root.join(&one.path)).is_ok_and(|text| is_whole(one.language, &text, until));
    !one.inside.is_empty() || *read_whole.entry(one.path.clone()).or_insert_with(is_whole)
}

/// Returns the index of a definition, which is added if it is new. Overloads share an index.
fn number_of(definitions: &mut Vec<Definition>, one: Definition) -> usize {
    let is_same = |known: &Definition| (&known.path, &known.label) == (&one.path, &one.label);
    definitions.iter().position(is_same).unwrap_or_else(|| {
        definitions.push(one);
        definitions.len() - 1
    })
}

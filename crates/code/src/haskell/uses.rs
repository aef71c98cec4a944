//! Verdicts for candidates, uses that syntax did not find, and the declarations of individual names, from an index.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use syntax::{Class, Kind, Language, last_word};

use super::index::{File, Id, Index, Use};
use super::reader::how;
use crate::answer::{Candidates, LineOptions, Site, Texts, site_at};
use crate::judgement::{Code, Judgement, Verdict};
use crate::search::{Hit, Scope};

/// Sets the verdicts of Haskell sites, and adds uses that only GHC knows.
pub(crate) fn judge(
    index: &Index,
    scope: &Scope,
    classes: &[Class],
    shown: LineOptions,
    found: &mut Candidates,
    judged: &mut Judgement,
) {
    let wanted = DefinitionNames::new(index, found);
    wanted.decide(index, found, judged);
    wanted.add(index, scope, shown, found, judged);
    wanted.doubt(index, classes, found, judged);
}

/// The names of a question's definitions, mapped to the indices of these.
#[derive(Default)]
struct DefinitionNames {
    plain: HashMap<Id, usize>,
    /// Instance methods: the class method and the instance.
    methods: Vec<(Id, Option<Id>, usize)>,
    /// Definitions that the index does not know.
    open: Vec<usize>,
    /// Files that GHC compiled in their current version.
    current: BTreeSet<Arc<Path>>,
}

impl DefinitionNames {
    fn new(index: &Index, found: &Candidates) -> DefinitionNames {
        let is_current = |path: &Path, text: &[u8]| index.file(path).is_some_and(|file| file.has_text(text));
        let current = found.texts.iter().filter(|(path, text)| is_current(path, text)).map(|(path, _)| path.clone());
        let mut wanted = DefinitionNames { current: current.collect(), ..DefinitionNames::default() };
        for (number, definition) in found.definitions.iter().enumerate() {
            if definition.language != Language::Haskell {
                continue;
            }
            let Some(file) = wanted.file(index, &definition.path) else {
                wanted.open.push(number);
                continue;
            };
            let all = file.at(definition.at);
            let of_modules = || all.iter().filter(|one| !index.is_local(one.id));
            if let Some(method) = of_modules().find(|one| one.how & how::INSTANCE_METHOD != 0) {
                wanted.methods.push((method.id, file.instance_before(definition.at), number));
            } else if let Some(one) = of_modules().next().or(all.first()) {
                wanted.plain.entry(one.id).or_insert(number);
            } else {
                wanted.open.push(number);
            }
        }
        wanted
    }

    /// Returns a file if GHC compiled its current version.
    fn file<'a>(&self, index: &'a Index, path: &Path) -> Option<&'a File> {
        index.file(path).filter(|_| self.current.contains(path))
    }

    /// Returns the definition that a use means, and whether a type class leads there.
    fn resolve(&self, index: &Index, found: &Candidates, file: &File, one: &Use) -> Option<(usize, bool)> {
        if let Some(&number) = self.plain.get(&one.id) {
            return Some((number, found.definitions[number].kind == Kind::Method));
        }
        // A method of another instance does not use this one.
        if one.how & how::INSTANCE_METHOD != 0 {
            return None;
        }
        let may_run = |(id, instance, _): &&(Id, Option<Id>, usize)| {
            *id == one.id && instance.is_none_or(|instance| index.may_run(file, one.at, instance))
        };
        self.methods.iter().find(may_run).map(|(.., number)| (*number, true))
    }

    fn decide(&self, index: &Index, found: &mut Candidates, judged: &mut Judgement) {
        let mut sites = std::mem::take(&mut found.sites);
        let mut open: BTreeMap<Arc<Path>, usize> = BTreeMap::new();
        for site in sites.iter_mut().filter(|site| site.language == Language::Haskell) {
            let file = self.file(index, &site.path);
            let all = file.map(|file| file.at(site.at)).unwrap_or_default();
            match all.iter().find_map(|one| Some((self.resolve(index, found, file?, one)?, one.how))) {
                Some(((number, by_interface), bits)) => {
                    site.by_interface = by_interface && matches!(site.class, Class::Call | Class::Value);
                    (site.verdict, site.meant) = (Verdict::Confirmed, Some(number));
                    if site.class == Class::Mention {
                        // Syntax takes this for a comment: a pragma (`{-# INLINE area #-}`), or code between preprocessor
                        // lines.
                        site.class = match bits & how::IMPORT_OR_EXPORT {
                            0 if is_in_pragma(found, site) => Class::Signature,
                            0 => Class::Value,
                            _ => Class::Import,
                        };
                    }
                }
                None if site.class == Class::Mention => {}
                None if file.is_none() => {
                    site.verdict = Verdict::Undecided(Code::Unparsable);
                    *open.entry(site.path.clone()).or_default() += 1;
                }
                None if all.is_empty() && is_module(found, site) => site.verdict = Verdict::Refuted,
                None if all.is_empty() => site.verdict = Verdict::Undecided(Code::Inactive),
                None if !self.open.is_empty() => site.verdict = Verdict::Undecided(Code::Unparsable),
                None => site.verdict = Verdict::Refuted,
            }
        }
        found.sites = sites;
        let of_definitions = self.open.iter().map(|number| found.definitions[*number].path.clone());
        let of_definitions: BTreeSet<Arc<Path>> = of_definitions.collect();
        for path in of_definitions {
            open.entry(path).or_default();
        }
        if open.is_empty() {
            return;
        }
        let said: Vec<String> = open.keys().take(MOST_FILES).map(|path| why(index, path)).collect();
        let more = open.len().saturating_sub(MOST_FILES);
        let more = if more > 0 { format!(" and {more} more files") } else { String::new() };
        let text = format!("{}{more}", said.join("; "));
        judged.doubt(Code::Unparsable, text, open.values().sum());
    }

    /// Adds uses that are not among the candidates.
    fn add(&self, index: &Index, scope: &Scope, shown: LineOptions, found: &mut Candidates, judged: &mut Judgement) {
        let ids: BTreeSet<Id> = self.plain.keys().copied().chain(self.methods.iter().map(|(id, ..)| *id)).collect();
        let known: BTreeSet<(Arc<Path>, usize)> = found
            .sites
            .iter()
            .map(|site| (site.path.clone(), site.at))
            .chain(found.definitions.iter().map(|one| (one.path.clone(), one.at)))
            .collect();
        let mut literate: BTreeMap<Arc<Path>, BTreeSet<usize>> = BTreeMap::new();
        for (path, one) in ids.iter().flat_map(|id| index.places(*id)) {
            let is_below = scope.root.join(path).starts_with(&scope.below);
            if !is_below || known.contains(&(path.clone(), one.at)) {
                continue;
            }
            let Some(file) = index.file(path) else { continue };
            let Some((number, by_interface)) = self.resolve(index, found, file, one) else { continue };
            let Ok(text) = crate::search::read(&scope.root.join(path)) else { continue };
            if !file.has_text(&text) {
                continue;
            }
            let Some(language) = Language::detect(path, &text) else {
                let line = 1 + memchr::memchr_iter(b'\n', &text[..one.at]).count();
                literate.entry(path.clone()).or_default().insert(line);
                continue;
            };
            let hit = Hit { path: path.to_path_buf(), language, text, starts: vec![one.at] };
            let until = Instant::now() + Duration::from_secs(1);
            if let Some(mut site) = site_at(found, &hit, index.name(one.id), shown, until) {
                // A clause of the definition itself.
                if matches!(site.class, Class::Binding | Class::Signature) && one.how & how::DECLARATION != 0 {
                    continue;
                }
                site.by_interface = by_interface && matches!(site.class, Class::Call | Class::Value);
                (site.verdict, site.meant) = (Verdict::Confirmed, Some(number));
                found.texts.entry(path.clone()).or_insert_with(|| hit.text.into());
                found.sites.push(site);
            }
        }
        for (path, lines) in literate {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            let file = project::visible::path(&path);
            let text =
                format!("{file} uses it in line {} (hob does not list uses in literate Haskell)", lines.join(", "));
            judged.doubt(Code::NotSearched, text, 0);
        }
    }

    /// Adds the reason if code of other packages may run methods of their classes.
    fn doubt(&self, index: &Index, classes: &[Class], found: &Candidates, judged: &mut Judgement) {
        let asks_for_calls = classes.iter().any(|class| matches!(class, Class::Call | Class::Value));
        let is_outside = |(id, ..): &&(Id, Option<Id>, usize)| index.declaration(*id).is_none();
        if let Some((_, _, number)) = self.methods.iter().find(is_outside).filter(|_| asks_for_calls) {
            let label = &found.definitions[*number].label;
            let text = format!("code of other packages may call {label}, as the class is theirs");
            judged.doubt(Code::Dynamic, text, 0);
        }
    }
}

/// The maximum number of uncompiled files that a text names.
const MOST_FILES: usize = 3;

fn is_in_pragma(found: &Candidates, site: &Site) -> bool {
    let before = found.text_before(&site.path, site.at);
    memchr::memmem::rfind(before, b"{-#") > memchr::memmem::rfind(before, b"#-}")
}

/// True if a name in an import or export is part of a module name: `Map` in `import Data.Map`.
fn is_module(found: &Candidates, site: &Site) -> bool {
    let before = found.text_before(&site.path, site.at);
    let is_behind_word =
        || matches!(last_word(before.trim_ascii_end()), b"import" | b"qualified" | b"safe" | b"as" | b"module");
    matches!(site.class, Class::Import | Class::Export) && (before.ends_with(b".") || is_behind_word())
}

/// Returns the reason why a file is not in the index.
fn why(index: &Index, path: &Path) -> String {
    let file = project::visible::path(path);
    match index.open.get(path) {
        Some(why) if why.starts_with("line ") => format!("{file} does not compile ({})", project::visible(why)),
        Some(why) => format!("{file} is not compiled: {}", project::visible(why)),
        None => format!("{file} is not compiled in its current form"),
    }
}

/// A file relative to the root, and an offset in it.
type FileOffset = (Arc<Path>, usize);

/// Returns where the names at these places are declared or bound; `Err` with the reason if unknown.
pub(crate) fn declarations(
    index: &Index,
    texts: &Texts,
    names: impl Iterator<Item = FileOffset>,
) -> Vec<Result<FileOffset, Code>> {
    let mut current: BTreeMap<Arc<Path>, bool> = BTreeMap::new();
    let declaration = |(path, at): FileOffset| {
        let file = index.file(&path).ok_or(Code::Unparsable)?;
        let is_current = || texts.get(&path).is_some_and(|text| file.has_text(text));
        if !*current.entry(path.clone()).or_insert_with(is_current) {
            return Err(Code::Unparsable);
        }
        let all = file.at(at);
        let of_modules = || all.iter().find(|one| !index.is_local(one.id));
        let one = of_modules().or(all.first()).ok_or(Code::Inactive)?;
        let why = || if index.is_external(one.id) { Code::OutsideTheRoot } else { Code::Unparsable };
        index.declaration(one.id).ok_or_else(why)
    };
    names.map(declaration).collect()
}

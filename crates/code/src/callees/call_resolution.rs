//! Resolves each call of a body with a language server. Candidates found by name are narrowed to the result, or replaced by it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::{CallSite, Callee, Callees, add};
use crate::answer::Texts;
use crate::definition::{Definition, tell_functions};
use crate::judgement::{Judgement, Verdict};
use crate::syntax::{Kind, Language, family};
use crate::verdict::{At, Call, Meaning, Meanings, Name, Target, meanings, recalled, remember};

/// Resolves the calls. Returns the judgement of the answer and the texts it is based on.
pub(crate) async fn judge(call: &Call<'_>, found: &mut Callees) -> (Judgement, Texts) {
    let mut judged = Judgement { is_certain: true, ..Judgement::default() };
    let mut texts = found.texts.clone();
    let of_bodies: BTreeSet<&'static str> = found.definitions.iter().map(|one| family(one.language)).collect();
    let calls: Vec<(usize, CallSite)> = found
        .callees
        .iter()
        .enumerate()
        .flat_map(|(number, callee)| callee.sites.iter().map(move |site| (number, site.clone())))
        .collect();
    let mut said: BTreeMap<usize, Meaning> = BTreeMap::new();
    for of in of_bodies {
        let here: Vec<usize> = (0..calls.len()).filter(|at| family(calls[*at].1.language) == of).collect();
        let name = |at: &usize| {
            let (callee, site) = &calls[*at];
            Name { path: site.path.clone(), at: site.at, word: found.callees[*callee].name.clone() }
        };
        let names: Vec<Name> = here.iter().map(name).collect();
        // A body that names nothing calls nothing.
        let Some(file) = names.first().map(|name| name.path.clone()) else { continue };
        let Meanings { of, texts: more } = meanings(call, of, &file, &names, &found.texts, &mut judged).await;
        texts.extend(more);
        said.extend(here.into_iter().zip(of));
    }
    let mut callees: Vec<Callee> = Vec::new();
    // The judgements to store: a definition of the project, and a site that resolves to it.
    let mut judgements: Vec<(At, At)> = Vec::new();
    for (at, (number, site)) in calls.into_iter().enumerate() {
        let callee = &found.callees[number];
        let one = match &said[&at] {
            // Not yet resolved, and the body binds a local of that name: most likely the local is meant.
            Meaning::Undecided(code) if callee.is_value && callee.is_local && !code.is_judged() => None,
            Meaning::Undecided(code) => {
                Some(Callee { verdict: Verdict::Undecided(*code), ..with_single_site(callee, site) })
            }
            meaning => match resolve(callee, meaning.targets(), site.language) {
                Resolution::Callee { definitions, is_local, made_at } => {
                    if let [one] = &definitions[..] {
                        judgements.push(((one.path.clone(), one.at), (site.path.clone(), site.at)));
                    }
                    let name = definitions.first().map_or_else(|| callee.name.clone(), |one| last_name(one, callee));
                    let verdict = Verdict::Confirmed;
                    Some(Callee { name, definitions, is_local, made_at, verdict, ..with_single_site(callee, site) })
                }
                Resolution::Data => None,
                Resolution::NoCall => {
                    found.refuted += 1;
                    None
                }
            },
        };
        if let Some(mut one) = one {
            tell_functions(&mut one.definitions, &found.functions);
            add(&mut callees, one);
        }
    }
    remember(call.pool, &judgements, &texts).await;
    recall(call, &mut callees, &found.texts).await;
    found.callees = callees;
    (judged, texts)
}

/// Meaning of a site.
enum Resolution {
    Callee {
        definitions: Vec<Definition>,
        is_local: bool,
        made_at: Option<(Arc<Path>, usize, Kind)>,
    },
    /// Constructs data and calls nothing.
    Data,
    /// Passes on a value that is not a function.
    NoCall,
}

fn resolve(callee: &Callee, targets: &[Target], language: Language) -> Resolution {
    let mut declared: Vec<Definition> = targets.iter().filter_map(|target| target.declares.clone()).collect();
    let is_candidate =
        |one: &Definition| callee.definitions.iter().any(|known| (&known.path, known.at) == (&one.path, one.at));
    if declared.iter().any(is_candidate) {
        declared.retain(is_candidate);
    }
    // Overloads count as one, except in C++, where each has a body. The last one has it elsewhere.
    declared.dedup_by(|next, one| {
        let is_same = (&next.path, &next.label) == (&one.path, &one.label) && one.language != Language::Cpp;
        if is_same {
            std::mem::swap(next, one);
        }
        is_same
    });
    let is_function =
        |one: &Definition| matches!(one.kind, Kind::Function | Kind::Method | Kind::Macro | Kind::Class | Kind::Struct);
    let makes_data = matches!(language, Language::Rust | Language::Haskell | Language::Go | Language::C);
    let is_data = |one: &Definition| one.kind == Kind::Constructor || one.kind.is_type();
    match (&declared[..], targets.iter().any(|target| target.is_bound)) {
        ([], true) if callee.is_value => Resolution::NoCall,
        ([], true) => Resolution::Callee { definitions: Vec::new(), is_local: true, made_at: None },
        ([], false) => {
            let made_at = targets.first().map(|target| (target.path.clone(), target.line, target.stands));
            Resolution::Callee { definitions: Vec::new(), is_local: false, made_at }
        }
        // An embedded field of Go has the name of its type.
        (all, _)
            if makes_data
                && !callee.is_type
                && all.iter().all(is_data)
                && !callee.definitions.iter().any(|one| one.kind == Kind::Field) =>
        {
            Resolution::Data
        }
        (all, _) if callee.is_value && !all.iter().any(is_function) => Resolution::NoCall,
        _ => Resolution::Callee { definitions: declared, is_local: false, made_at: None },
    }
}

/// Returns the name of a definition, which an import may have renamed.
fn last_name(definition: &Definition, callee: &Callee) -> String {
    match definition.label.rsplit(['.', ':']).next() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => callee.name.clone(),
    }
}

fn with_single_site(callee: &Callee, site: CallSite) -> Callee {
    Callee { made_at: None, sites: vec![site], ..callee.clone() }
}

/// Adds calls that were confirmed earlier and cannot be verified now.
async fn recall(call: &Call<'_>, callees: &mut Vec<Callee>, texts: &Texts) {
    let open = |callee: &Callee| matches!(callee.verdict, Verdict::Undecided(code) if !code.is_judged());
    let mut all: Vec<Callee> = Vec::new();
    for callee in std::mem::take(callees) {
        if !open(&callee) || callee.definitions.is_empty() {
            add(&mut all, callee);
            continue;
        }
        let definitions = callee.definitions.iter().map(|one| (one.path.clone(), one.at)).collect();
        let sites: Vec<_> = callee.sites.iter().map(|site| (site.path.clone(), site.at)).collect();
        let meant = recalled(call, definitions, &sites, texts).await;
        for (site, meant) in callee.sites.iter().zip(meant) {
            let one = with_single_site(&callee, site.clone());
            add(
                &mut all,
                match meant {
                    Some(number) => Callee {
                        definitions: vec![callee.definitions[number].clone()],
                        verdict: Verdict::Earlier,
                        ..one
                    },
                    None => one,
                },
            );
        }
    }
    *callees = all;
}

//! Resolves each call of a body with a language server. Candidates found by name are narrowed to the result, or replaced by it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use syntax::{C_AND_CPP, Kind, Language, family};

use super::by_name::{ByName, KnownDefinitions};
use super::{Bodies, CallForm, Callee, Callees, add};
use crate::answer::Texts;
use crate::definition::{Definition, tell_functions};
use crate::inquiry::blocking;
use crate::judgement::{Judgement, Verdict};
use crate::search::Scope;
use crate::target::Target;
use crate::verdict::{At, Call, Meaning, Meanings, Name, meanings, recalled, remember};

/// Resolves the calls. Returns the callees, the judgement of the answer and the texts it is based on.
///
/// A language server that is ready is asked first, and only the names that it leaves open are searched by name. `known` has the
/// definitions of names from earlier questions.
pub(crate) async fn judge(call: &Call<'_>, bodies: Bodies, known: &KnownDefinitions) -> (Callees, Judgement, Texts) {
    let Bodies { definitions, calls, mut skipped, texts: of_bodies } = bodies;
    let mut judged = Judgement { is_certain: true, ..Judgement::default() };
    let (mut texts, mut by_name) = (of_bodies.clone(), ByName::default());
    let mut meant: BTreeMap<usize, Meaning> = BTreeMap::new();
    // The search for the bodies is over. A search by name covers the whole worktree.
    let scope = |until| Scope { until, ..Scope::for_root(&call.scope.root, Duration::ZERO) };
    let families: BTreeSet<&'static str> = definitions.iter().map(|one| family(one.language)).collect();
    for of in families {
        let mut here: Vec<usize> = (0..calls.len()).filter(|at| family(calls[*at].site.language) == of).collect();
        // A body that names nothing calls nothing.
        let Some(file) = here.first().map(|at| calls[*at].site.path.clone()) else { continue };
        // The kind of a function in C++ depends on all its declarations, so there the names are searched in any case.
        let is_ready = of != C_AND_CPP && call.pool.is_ready(call.cx, of, &file).await;
        if !is_ready {
            blocking(|| by_name.search(&scope(call.scope.until), known, here.iter().map(|at| &calls[*at])));
            here.retain(|at| by_name.candidates(&calls[*at]).is_some());
        }
        // If there are too many, those that may be no calls remain open.
        here.sort_by_key(|at| calls[*at].is_value);
        let name = |at: &usize| {
            let CallForm { name, site, .. } = &calls[*at];
            Name { path: site.path.clone(), at: site.at, word: name.clone() }
        };
        let names: Vec<Name> = here.iter().map(name).collect();
        if names.is_empty() {
            continue;
        }
        let Meanings { of: meanings, texts: more } = meanings(call, of, &file, &names, &of_bodies, &mut judged).await;
        texts.extend(more);
        if is_ready {
            let open = here.iter().zip(&meanings).map(|(at, meaning)| (&calls[*at], meaning));
            let open = open.filter(|(called, meaning)| needs_candidates(called, meaning));
            let until = call.scope.until.min(call.until.max(Instant::now() + OVERTIME));
            blocking(|| by_name.search(&scope(until), known, open.map(|(called, _)| called)));
        }
        meant.extend(here.into_iter().zip(meanings));
    }
    let functions = by_name.functions();
    let mut callees: Vec<Callee> = Vec::new();
    // The judgements to store: a definition of the project, and a site that resolves to it.
    let mut judgements: Vec<(At, At)> = Vec::new();
    for (at, called) in calls.into_iter().enumerate() {
        let Some(meaning) = meant.get(&at) else { continue };
        let candidates = by_name.candidates(&called);
        let is_dropped = candidates.is_none();
        let callee = Callee {
            name: called.name,
            definitions: candidates.unwrap_or_default(),
            is_value: called.is_value,
            is_type: called.is_type,
            is_local: called.is_bound,
            made_at: None,
            verdict: Verdict::Confirmed,
            sites: vec![called.site],
        };
        let one = match meaning {
            Meaning::Undecided(_) if is_dropped => None,
            // Not yet resolved, and the body binds a local of that name: most likely the local is meant.
            Meaning::Undecided(code) if callee.is_value && callee.is_local && !code.is_judged() => None,
            Meaning::Undecided(code) => Some(Callee { verdict: Verdict::Undecided(*code), ..callee }),
            meaning => resolve(&callee, meaning.targets()),
        };
        if let Some(mut one) = one {
            if let (Verdict::Confirmed, [definition]) = (one.verdict, &one.definitions[..]) {
                let site = &one.sites[0];
                judgements.push(((definition.path.clone(), definition.at), (site.path.clone(), site.at)));
            }
            tell_functions(&mut one.definitions, &functions);
            add(&mut callees, one);
        }
    }
    remember(call.pool, &judgements, &texts).await;
    recall(call, &mut callees, &of_bodies).await;
    skipped.extend(by_name.skipped.into_iter().filter(|one| !skipped.contains(one)).collect::<Vec<_>>());
    skipped.sort();
    (Callees { definitions, callees, files: by_name.files, skipped, texts: of_bodies }, judged, texts)
}

/// How long the search by name may take after the deadline.
const OVERTIME: Duration = Duration::from_millis(200);

/// True if the answer of the server leaves open which definition is meant.
fn needs_candidates(called: &CallForm, meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Undecided(code) => code.is_judged() || !(called.is_value && called.is_bound),
        Meaning::Is(targets) => {
            let declared = targets.iter().filter_map(|target| target.declares.as_ref());
            let labels: BTreeSet<_> = declared.clone().map(|one| (&one.path, &one.label)).collect();
            // An embedded field of Go has the name of its type.
            labels.len() > 1 || called.site.language == Language::Go && declared.clone().any(|one| one.kind.is_type())
        }
        Meaning::External => false,
    }
}

/// Returns the callee that the server gives. `None` if it constructs data, or passes on a value that is not a function of
/// the project.
fn resolve(callee: &Callee, targets: &[Target]) -> Option<Callee> {
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
        |one: &Definition| !one.is_outside() && matches!(one.kind, Kind::Function | Kind::Method | Kind::Macro);
    // An embedded field of Go has the name of its type.
    let is_field = |one: &Definition| one.kind == Kind::Field;
    let makes_data =
        matches!(callee.sites[0].language, Language::Rust | Language::Haskell | Language::Go | Language::C)
            && !callee.is_type
            && !callee.definitions.iter().any(is_field);
    let is_data = |one: &Definition| one.kind == Kind::Constructor || one.kind.is_type();
    let is_bound = targets.iter().any(|target| target.is_bound);
    let is_no_call = match &declared[..] {
        // A local variable, or a function that a macro defines.
        [] => callee.is_value && (is_bound || !targets.iter().any(|one| one.stands == Kind::Macro)),
        all if makes_data && all.iter().all(is_data) => true,
        all => callee.is_value && !all.iter().any(is_function),
    };
    if is_no_call {
        return None;
    }
    let is_local = declared.is_empty() && is_bound;
    let made_at = targets.first().filter(|_| declared.is_empty() && !is_bound);
    let made_at = made_at.map(|target| (target.path.clone(), target.line, target.stands));
    let name = declared.first().map_or_else(|| callee.name.clone(), |one| last_name(one, callee));
    Some(Callee { name, definitions: declared, is_local, made_at, ..callee.clone() })
}

/// Returns the name of a definition, which an import may have renamed.
fn last_name(definition: &Definition, callee: &Callee) -> String {
    match definition.label.rsplit(['.', ':']).next() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => callee.name.clone(),
    }
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
            let one = Callee { made_at: None, sites: vec![site.clone()], ..callee.clone() };
            let earlier = meant.map(|number| Callee {
                definitions: vec![callee.definitions[number].clone()],
                verdict: Verdict::Earlier,
                ..one.clone()
            });
            add(&mut all, earlier.unwrap_or(one));
        }
    }
    *callees = all;
}

//! Patterns of every language as one tree, and what a branch takes of a constructor that is not there yet.

use std::collections::BTreeSet;

/// A pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Takes everything: a wildcard, a name that binds.
    Any,
    /// Takes what one constructor made, or a tuple; each part with its position or field.
    Of {
        name: String,
        qualifier: Option<String>,
        /// What a judge is asked about: where the name stands, or what is compared with a text.
        at: usize,
        parts: Vec<(String, Pattern)>,
    },
    Either(Vec<Pattern>),
    /// Takes some values, by what is no constructor: a number, a range.
    Other,
}

impl Pattern {
    pub(super) fn named(name: impl Into<String>, qualifier: Option<String>, at: usize) -> Pattern {
        Pattern::Of { name: name.into(), qualifier, at, parts: Vec::new() }
    }

    /// Parts that stand beside each other: a tuple, the arguments of a function.
    pub(super) fn beside(parts: impl IntoIterator<Item = Pattern>) -> Pattern {
        let parts = numbered(parts);
        Pattern::Of { name: format!("({})", parts.len()), qualifier: None, at: 0, parts }
    }
}

impl Pattern {
    /// The elements of a slice, of which more may stand where the rest does.
    pub(super) fn sequence(elements: Vec<Pattern>, rest: Option<usize>) -> Pattern {
        if elements.is_empty() && rest.is_some() {
            return Pattern::Any;
        }
        let count = elements.len();
        // Those behind the rest are counted from the end.
        let number = |at: usize| match rest {
            Some(rest) if at >= rest => format!("-{}", count - at),
            _ => at.to_string(),
        };
        let parts = elements.into_iter().enumerate().map(|(at, element)| (number(at), element)).collect();
        let name = if rest.is_some() { format!("[{count}..]") } else { format!("[{count}]") };
        Pattern::Of { name, qualifier: None, at: 0, parts }
    }
}

pub(super) fn numbered(parts: impl IntoIterator<Item = Pattern>) -> Vec<(String, Pattern)> {
    parts.into_iter().enumerate().map(|(number, part)| (number.to_string(), part)).collect()
}

/// A branch.
#[derive(Debug, Clone)]
pub(super) struct Arm {
    pub pattern: Pattern,
    /// Whether a condition can refuse what the pattern takes.
    pub is_guarded: bool,
    /// What happens in it, if it was written for what should not be.
    pub refuses: Option<&'static str>,
}

/// What happens to a value that no branch takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Otherwise {
    Breaks(&'static str),
    FallsThrough(&'static str),
    Absorbs(&'static str),
}

/// A place where a value is taken apart.
#[derive(Debug)]
pub(super) struct Match {
    /// Where it begins and ends.
    pub bytes: std::ops::Range<usize>,
    pub form: &'static str,
    pub arms: Vec<Arm>,
    pub otherwise: Otherwise,
}

/// How much of a constructor's values a pattern takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Takes {
    Nothing,
    Some,
    All,
}

/// The steps to a place within patterns: a constructor and its part.
type Way = Vec<(String, String)>;

/// Whether a name, behind a qualifier, at a place, is one of the constructors that are asked about.
pub(super) type IsOurs<'a> = &'a dyn Fn(&str, Option<&str>, usize) -> bool;

/// What a match says about a type's constructors.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Coverage {
    /// The constructors that it names.
    pub names: Vec<String>,
    /// What a judge is asked about.
    pub places: BTreeSet<(usize, String)>,
    /// Whether a branch takes all others.
    pub has_wildcard: bool,
    /// Whether something else is named where they are.
    pub has_others: bool,
    /// What happens to one that is not there yet; `None` if other parts of the patterns decide.
    pub new: Option<Otherwise>,
}

/// Reads a match. `None` if it names no constructor of ours.
pub(super) fn judged(one: &Match, is_ours: IsOurs<'_>) -> Option<Coverage> {
    let mut ways: Vec<(Way, Vec<(usize, String)>)> = Vec::new();
    let mut others: Vec<(Way, Vec<(usize, String)>)> = Vec::new();
    for arm in &one.arms {
        named(&arm.pattern, &mut Vec::new(), is_ours, &mut ways);
        let is_other =
            |name: &str, of: Option<&str>, at: usize| !name.starts_with(['(', '[']) && !is_ours(name, of, at);
        named(&arm.pattern, &mut Vec::new(), &is_other, &mut others);
    }
    let has_others = others.iter().any(|(other, _)| ways.iter().any(|(way, _)| way == other));
    let places: BTreeSet<(usize, String)> = ways.iter().flat_map(|(_, names)| names.clone()).collect();
    let mut names: Vec<String> = places.iter().map(|(_, name)| name.clone()).collect();
    names.sort();
    names.dedup();
    let severity = |new: &Option<Otherwise>| match new {
        Some(Otherwise::Breaks(_)) => 3,
        None => 2,
        Some(Otherwise::FallsThrough(_)) => 1,
        Some(Otherwise::Absorbs(_)) => 0,
    };
    let each: Vec<(bool, Option<Otherwise>)> = ways.iter().map(|(way, _)| taken(one, way)).collect();
    let has_wildcard = !each.is_empty() && each.iter().all(|(has_wildcard, _)| *has_wildcard);
    let new = each.into_iter().map(|(_, new)| new).max_by_key(severity)?;
    Some(Coverage { names, places, has_wildcard, has_others, new })
}

/// What becomes of a new constructor at one place; and whether a branch takes all of it.
fn taken(one: &Match, way: &Way) -> (bool, Option<Otherwise>) {
    let mut is_partly = false;
    for arm in &one.arms {
        match takes(&arm.pattern, way) {
            Takes::All if !arm.is_guarded => {
                let new = match arm.refuses {
                    Some(how) => Otherwise::Breaks(how),
                    None => Otherwise::Absorbs("a branch for everything takes it"),
                };
                return (true, Some(new));
            }
            Takes::All => {}
            // A guard counts for nothing, so a guarded part does not either.
            Takes::Some => is_partly |= !arm.is_guarded,
            Takes::Nothing => {}
        }
    }
    (false, (!is_partly).then_some(one.otherwise))
}

/// Collects where our constructors stand.
fn named(pattern: &Pattern, way: &mut Way, is_ours: IsOurs<'_>, ways: &mut Vec<(Way, Vec<(usize, String)>)>) {
    match pattern {
        Pattern::Any | Pattern::Other => {}
        Pattern::Either(all) => all.iter().for_each(|one| named(one, way, is_ours, ways)),
        Pattern::Of { name, qualifier, at, parts } => {
            if is_ours(name, qualifier.as_deref(), *at) {
                match ways.iter_mut().find(|(other, _)| other == way) {
                    Some((_, names)) => names.push((*at, name.clone())),
                    None => ways.push((way.clone(), vec![(*at, name.clone())])),
                }
            }
            for (part, inner) in parts {
                way.push((name.clone(), part.clone()));
                named(inner, way, is_ours, ways);
                way.pop();
            }
        }
    }
}

/// How much a pattern takes of the values that have something new at a place.
fn takes(pattern: &Pattern, way: &[(String, String)]) -> Takes {
    match pattern {
        Pattern::Any => Takes::All,
        Pattern::Other => Takes::Nothing,
        Pattern::Either(all) => all.iter().map(|one| takes(one, way)).max().unwrap_or(Takes::Nothing),
        Pattern::Of { name, parts, .. } => {
            let Some(((of, part), rest)) = way.split_first() else { return Takes::Nothing };
            if of != name {
                // Slices of other lengths may take the same values.
                return if of.starts_with('[') && name.starts_with('[') { Takes::Some } else { Takes::Nothing };
            }
            let at = |wanted: &str| parts.iter().find(|(label, _)| label == wanted).map(|(_, inner)| inner);
            let inner = at(part).map_or(Takes::All, |inner| takes(inner, rest));
            let others_are_open = parts.iter().filter(|(label, _)| label != part).all(|(_, other)| is_open(other));
            if others_are_open { inner } else { inner.min(Takes::Some) }
        }
    }
}

/// Whether a pattern takes everything, as far as it says itself.
fn is_open(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Any => true,
        Pattern::Other => false,
        Pattern::Either(all) => all.iter().any(is_open),
        // A tuple has one shape; of others nobody knows here whether there are more.
        Pattern::Of { name, parts, .. } => name.starts_with('(') && parts.iter().all(|(_, part)| is_open(part)),
    }
}

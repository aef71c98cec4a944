//! Patterns of all languages in one tree, and the effect of a new constructor on a branch.

use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Matches everything: a wildcard, or a name that binds.
    Any,
    /// Matches the values of one constructor, a tuple or a list; each part has a position or a field name.
    Of {
        name: String,
        qualifier: Option<String>,
        /// Offset to resolve: the name, or the value compared with a text.
        at: usize,
        parts: Vec<(String, Pattern)>,
    },
    Either(Vec<Pattern>),
    /// Matches some values without a constructor: a number, a range.
    Other,
}

impl Pattern {
    /// Combines adjacent parts: a tuple, or the arguments of a function.
    pub(super) fn combine_adjacent(parts: Vec<Pattern>) -> Pattern {
        let name = format!("({})", parts.len());
        Pattern::Of { name, qualifier: None, at: 0, parts: numbered(parts) }
    }
}

/// The name of a list or a slice. Which of its parts take a value depends on its length.
pub(super) const LIST: &str = "[";

pub(super) fn numbered(parts: Vec<Pattern>) -> Vec<(String, Pattern)> {
    parts.into_iter().enumerate().map(|(number, part)| (number.to_string(), part)).collect()
}

#[derive(Debug, Clone)]
pub(super) struct Arm {
    pub pattern: Pattern,
    /// True if a condition can reject what the pattern accepts.
    pub is_guarded: bool,
    /// The failing call in the branch, if the branch is for impossible cases.
    pub refuses: Option<&'static str>,
}

/// Result for a value that no branch accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Otherwise {
    Breaks(&'static str),
    FallsThrough(&'static str),
    Absorbs(&'static str),
}

/// A place that matches on a value.
#[derive(Debug)]
pub(super) struct Match {
    pub bytes: Range<usize>,
    pub form: &'static str,
    pub arms: Vec<Arm>,
    pub otherwise: Otherwise,
}

impl Match {
    /// Creates a match with one pattern.
    pub(super) fn single(bytes: Range<usize>, form: &'static str, pattern: Pattern, otherwise: Otherwise) -> Match {
        let arms = vec![Arm { pattern, is_guarded: false, refuses: None }];
        Match { bytes, form, arms, otherwise }
    }
}

/// Share of a constructor's values that a pattern accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Takes {
    Nothing,
    Some,
    All,
}

/// Path to a position within patterns: a constructor and its part.
type Way = Vec<(String, String)>;

/// Decides whether a name, with its qualifier and offset, is one of the wanted constructors.
pub(super) type IsOurs<'a> = &'a dyn Fn(&str, Option<&str>, usize) -> bool;

/// A match, as it concerns the constructors of a type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Coverage {
    pub names: Vec<String>,
    /// Positions to resolve with the language server.
    pub places: BTreeSet<(usize, String)>,
    /// True if a branch accepts all other values.
    pub has_wildcard: bool,
    /// True if names other than these constructors occur in their place.
    pub has_others: bool,
    /// Result for a new constructor; `None` if other parts of the patterns decide.
    pub new: Option<Otherwise>,
}

/// Reads a match. Returns `None` if it names no wanted constructor.
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
    let each: Vec<(bool, Option<Otherwise>)> = ways.iter().map(|(way, _)| new_constructor_result(one, way)).collect();
    let has_wildcard = !each.is_empty() && each.iter().all(|(has_wildcard, _)| *has_wildcard);
    let new = each.into_iter().map(|(_, new)| new).max_by_key(severity)?;
    Some(Coverage { names, places, has_wildcard, has_others, new })
}

/// Returns the result for a new constructor at one position, and whether a branch accepts all of it.
fn new_constructor_result(one: &Match, way: &Way) -> (bool, Option<Otherwise>) {
    let mut is_partly = false;
    for arm in &one.arms {
        match takes(&arm.pattern, way) {
            Takes::All if !arm.is_guarded => {
                let new = match arm.refuses {
                    Some(how) => Otherwise::Breaks(how),
                    None => Otherwise::Absorbs("a catch-all branch takes it"),
                };
                return (true, Some(new));
            }
            Takes::All => {}
            // A guard may fail, so a guarded branch guarantees nothing.
            Takes::Some => is_partly |= !arm.is_guarded,
            Takes::Nothing => {}
        }
    }
    (false, (!is_partly).then_some(one.otherwise))
}

/// Collects the positions of wanted constructors.
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

/// Returns the share that a pattern accepts of the values with a new constructor at a position.
fn takes(pattern: &Pattern, way: &[(String, String)]) -> Takes {
    match pattern {
        Pattern::Any => Takes::All,
        Pattern::Other => Takes::Nothing,
        Pattern::Either(all) => all.iter().map(|one| takes(one, way)).max().unwrap_or(Takes::Nothing),
        Pattern::Of { name, parts, .. } => {
            let Some(((of, part), rest)) = way.split_first() else { return Takes::Nothing };
            if of != name {
                return Takes::Nothing;
            }
            if name == LIST {
                return Takes::Some;
            }
            let at = |wanted: &str| parts.iter().find(|(label, _)| label == wanted).map(|(_, inner)| inner);
            let inner = at(part).map_or(Takes::All, |inner| takes(inner, rest));
            let others_are_open = parts.iter().filter(|(label, _)| label != part).all(|(_, other)| is_open(other));
            if others_are_open { inner } else { inner.min(Takes::Some) }
        }
    }
}

/// True if the pattern is known to accept everything.
fn is_open(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Any => true,
        Pattern::Other => false,
        Pattern::Either(all) => all.iter().any(is_open),
        // A tuple has one shape. Whether other constructors have alternatives is unknown here.
        Pattern::Of { name, parts, .. } => name.starts_with('(') && parts.iter().all(|(_, part)| is_open(part)),
    }
}

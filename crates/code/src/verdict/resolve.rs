//! What the evidence about a candidate means.

use super::Verdict;
use crate::judgement::Code;

/// What a server or the syntax says is defined at a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Nothing, for this reason.
    Unknown(Code),
    /// This one of our definitions.
    Definition(usize),
    /// Another definition.
    Other,
    /// Another definition in an interface, which ours may implement.
    Interface,
    /// An import or a prototype, which is this candidate.
    Import(usize),
    /// A method that one of ours may override or implement, which is not told.
    Base,
    /// A method that this one of our definitions overrides or implements, or one that implements it.
    Override(usize),
}

/// A place that may mean one of our definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Our definitions whose references have it.
    pub references: Vec<usize>,
    pub evidence: Evidence,
}

impl Candidate {
    pub(super) fn new(silent: Code) -> Candidate {
        Candidate { references: Vec::new(), evidence: Evidence::Unknown(silent) }
    }
}

/// What a candidate means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolution {
    pub verdict: Verdict,
    /// Which of our definitions.
    pub meant: Option<usize>,
    /// Whether the references lack it.
    pub is_missed: bool,
    /// Whether it is reached through an interface or a base.
    pub by_interface: bool,
}

/// How many imports are followed one after the other.
const DEEP: usize = 4;

/// Resolves the candidate of a number by the evidence about it, and about the imports that it leads through.
pub(super) fn resolve(number: usize, candidates: &[Candidate]) -> Resolution {
    let references = candidates[number].references.first().copied();
    let resolution = |verdict, meant| Resolution { verdict, meant, is_missed: false, by_interface: false };
    let confirmed = |one: usize| resolution(Verdict::Confirmed, Some(one));
    let missed = |one: usize| Resolution { is_missed: references.is_none(), ..confirmed(one) };
    let by_references = |code| references.map_or(resolution(Verdict::Undecided(code), None), confirmed);
    let silent = |number: usize| match candidates[number].evidence {
        Evidence::Unknown(code) => code,
        _ => Code::Dynamic,
    };
    let mut at = number;
    for _ in 0..DEEP {
        match candidates[at].evidence {
            Evidence::Definition(one) => return missed(one),
            Evidence::Override(one) => return Resolution { by_interface: true, ..confirmed(one) },
            Evidence::Interface if let Some(one) = references => {
                return Resolution { by_interface: true, ..confirmed(one) };
            }
            // References are by name for some methods; what is defined there is not.
            Evidence::Other | Evidence::Interface => return resolution(Verdict::Refuted, None),
            Evidence::Unknown(code) => return by_references(code),
            Evidence::Base => return by_references(Code::Dynamic),
            Evidence::Import(next) if next != at => at = next,
            Evidence::Import(_) => return by_references(Code::Dynamic),
        }
        let import = &candidates[at];
        if let Some(one) = import.references.first().filter(|_| at != number && import.evidence != Evidence::Other) {
            return missed(*one);
        }
    }
    by_references(silent(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: Evidence = Evidence::Unknown(Code::Dynamic);

    fn candidates(all: &[(&[usize], Evidence)]) -> Vec<Candidate> {
        let candidate = |(references, evidence): &(&[usize], Evidence)| Candidate {
            references: references.to_vec(),
            evidence: evidence.clone(),
        };
        all.iter().map(candidate).collect()
    }

    #[test]
    fn references_and_definitions_resolve() {
        let check = |references: &[usize], evidence: Evidence, wanted: (Verdict, Option<usize>, bool)| {
            let one = resolve(0, &candidates(&[(references, evidence.clone())]));
            assert_eq!((one.verdict, one.meant, one.is_missed), wanted, "{references:?} {evidence:?}");
        };
        check(&[0], Evidence::Definition(0), (Verdict::Confirmed, Some(0), false));
        check(&[], Evidence::Definition(1), (Verdict::Confirmed, Some(1), true));
        check(&[0, 1], Evidence::Definition(1), (Verdict::Confirmed, Some(1), false));
        check(&[0], UNKNOWN, (Verdict::Confirmed, Some(0), false));
        // An empty list proves nothing.
        check(&[], UNKNOWN, (Verdict::Undecided(Code::Dynamic), None, false));
        check(&[], Evidence::Unknown(Code::Stale), (Verdict::Undecided(Code::Stale), None, false));
        check(&[], Evidence::Other, (Verdict::Refuted, None, false));
        check(&[0], Evidence::Other, (Verdict::Refuted, None, false));
        check(&[0], Evidence::Interface, (Verdict::Confirmed, Some(0), false));
        check(&[], Evidence::Interface, (Verdict::Refuted, None, false));
        check(&[], Evidence::Override(1), (Verdict::Confirmed, Some(1), false));
        check(&[], Evidence::Base, (Verdict::Undecided(Code::Dynamic), None, false));
        check(&[], Evidence::Import(0), (Verdict::Undecided(Code::Dynamic), None, false));
    }

    #[test]
    fn imports_are_followed() {
        let check = |all: &[(&[usize], Evidence)], wanted: Verdict| {
            assert_eq!(resolve(0, &candidates(all)).verdict, wanted, "{all:?}");
        };
        let (first, second) = (Evidence::Import(1), Evidence::Import(2));
        check(&[(&[], first.clone()), (&[], second), (&[], Evidence::Definition(0))], Verdict::Confirmed);
        check(&[(&[], first.clone()), (&[], Evidence::Other)], Verdict::Refuted);
        // An import of which nothing is known decides nothing: a server that loads names the import line.
        check(&[(&[], first.clone()), (&[], UNKNOWN)], Verdict::Undecided(Code::Dynamic));
        check(&[(&[], first.clone()), (&[], Evidence::Import(0))], Verdict::Undecided(Code::Dynamic));
        check(&[(&[], first), (&[0], UNKNOWN)], Verdict::Confirmed);
    }
}

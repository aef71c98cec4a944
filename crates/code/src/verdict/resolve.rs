//! Combines the evidence for a candidate into a verdict.

use super::Verdict;
use crate::judgement::Code;

/// The definition at a candidate, according to a server or the syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Unknown, with the reason.
    Unknown(Code),
    /// Unknown, but the grammar excludes the definitions.
    Excluded,
    Definition(usize),
    /// Another definition.
    Other,
    /// Another definition in an interface, which one of the definitions may implement.
    Interface,
    /// An import or a prototype, which is this candidate.
    Import(usize),
    /// A method that an unknown one of the definitions may override or implement.
    Base,
    /// A method that is related to this definition by overriding or implementing.
    Override(usize),
}

/// A place that may mean one of the definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The definitions whose references include it.
    pub references: Vec<usize>,
    pub evidence: Evidence,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolution {
    pub verdict: Verdict,
    /// The index of the definition that it means.
    pub meant: Option<usize>,
    /// True if the references lack it.
    pub is_missed: bool,
    /// True if it is reached through an interface or a base.
    pub by_interface: bool,
}

/// The maximum length of an import chain.
const DEEP: usize = 4;

/// Resolves a candidate by its evidence and that of the imports that it leads through.
pub(super) fn resolve(number: usize, candidates: &[Candidate]) -> Resolution {
    let references = candidates[number].references.first().copied();
    let resolution = |verdict, meant| Resolution { verdict, meant, is_missed: false, by_interface: false };
    let confirmed = |one: usize| resolution(Verdict::Confirmed, Some(one));
    let missed = |one: usize| Resolution { is_missed: references.is_none(), ..confirmed(one) };
    let by_references = |code| references.map_or(resolution(Verdict::Undecided(code), None), confirmed);
    let mut at = number;
    for _ in 0..DEEP {
        match candidates[at].evidence {
            Evidence::Definition(one) => return missed(one),
            Evidence::Override(one) => return Resolution { by_interface: true, ..confirmed(one) },
            Evidence::Interface if let Some(one) = references => {
                return Resolution { by_interface: true, ..confirmed(one) };
            }
            // For some methods the references match by name only; the definition at the site decides.
            Evidence::Other | Evidence::Interface => return resolution(Verdict::Refuted, None),
            Evidence::Unknown(code) => return by_references(code),
            Evidence::Excluded => return references.map_or(resolution(Verdict::Refuted, None), confirmed),
            Evidence::Base => return by_references(Code::Dynamic),
            Evidence::Import(next) if next != at => at = next,
            Evidence::Import(_) => return by_references(Code::Dynamic),
        }
        let import = &candidates[at];
        if let Some(one) = import.references.first().filter(|_| at != number && import.evidence != Evidence::Other) {
            return missed(*one);
        }
    }
    by_references(Code::Dynamic)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: Evidence = Evidence::Unknown(Code::Dynamic);

    fn candidates(all: &[(&[usize], Evidence)]) -> Vec<Candidate> {
        let candidate = |(references, evidence): &(&[usize], Evidence)| Candidate {
            references: references.to_vec(),
            evidence: *evidence,
        };
        all.iter().map(candidate).collect()
    }

    #[test]
    fn references_and_definitions_resolve() {
        let check = |references: &[usize], evidence: Evidence, wanted: (Verdict, Option<usize>, bool)| {
            let one = resolve(0, &candidates(&[(references, evidence)]));
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
        check(&[], Evidence::Excluded, (Verdict::Refuted, None, false));
        check(&[0], Evidence::Excluded, (Verdict::Confirmed, Some(0), false));
    }

    #[test]
    fn imports_are_followed() {
        let check = |all: &[(&[usize], Evidence)], wanted: Verdict| {
            assert_eq!(resolve(0, &candidates(all)).verdict, wanted, "{all:?}");
        };
        let (first, second) = (Evidence::Import(1), Evidence::Import(2));
        check(&[(&[], first), (&[], second), (&[], Evidence::Definition(0))], Verdict::Confirmed);
        check(&[(&[], first), (&[], Evidence::Other)], Verdict::Refuted);
        // An unresolved import decides nothing: a server that is loading returns the import line.
        check(&[(&[], first), (&[], UNKNOWN)], Verdict::Undecided(Code::Dynamic));
        check(&[(&[], first), (&[], Evidence::Import(0))], Verdict::Undecided(Code::Dynamic));
        check(&[(&[], first), (&[0], UNKNOWN)], Verdict::Confirmed);
    }
}

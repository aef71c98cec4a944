//! What two answers mean for a site: whether the references of our definitions have it, and what is defined there.

use super::Verdict;
use crate::judgement::Code;

/// What a server says is defined at a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// It was not asked, or names nothing.
    Nothing,
    /// This one of our definitions.
    Ours(usize),
    /// Another one, whose text is the name.
    Other {
        /// It is declared in an interface, and ours may be what it comes to.
        is_interface: bool,
    },
    /// An import or a prototype, which is a site itself.
    Through(usize),
    /// A method of the trait that ours implements, or one that implements ours.
    Dispatched(usize),
    /// A place whose text is something else: not believed.
    Odd,
    Failed(Code),
}

/// What is known of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decided {
    pub verdict: Verdict,
    /// Which of our definitions.
    pub meant: Option<usize>,
    /// The references lacked it.
    pub is_missed: bool,
    /// It is reached through an interface.
    pub by_interface: bool,
}

/// How many imports are followed one after the other.
const DEEP: usize = 4;

/// Decides on a site. `named` are our definitions whose references have each site, `said` what is defined there, `silent` why
/// nothing may be said.
pub(super) fn decide(site: usize, named: &[Vec<usize>], said: &[Said], silent: Code) -> Decided {
    let by_references = named[site].first().copied();
    let decided = |verdict, meant| Decided { verdict, meant, is_missed: false, by_interface: false };
    let mut at = site;
    for _ in 0..DEEP {
        match (&said[at], by_references) {
            (Said::Ours(one), known) => {
                return Decided { is_missed: known.is_none(), ..decided(Verdict::Confirmed, Some(*one)) };
            }
            // It calls the interface, and the server says that ours may be meant.
            (Said::Other { is_interface: true }, Some(one)) => {
                return Decided { by_interface: true, ..decided(Verdict::Confirmed, Some(one)) };
            }
            (Said::Dispatched(one), _) => {
                return Decided { by_interface: true, ..decided(Verdict::Confirmed, Some(*one)) };
            }
            // References are by name for some methods; what is defined there is not.
            (Said::Other { .. }, _) => return decided(Verdict::Refuted, None),
            (Said::Through(next), _) if *next != at => at = *next,
            (Said::Odd, None) => return decided(Verdict::Undecided(Code::Stale), None),
            (Said::Failed(code), None) => return decided(Verdict::Undecided(*code), None),
            (Said::Nothing | Said::Through(_), None) => return decided(Verdict::Undecided(silent), None),
            (Said::Nothing | Said::Through(_) | Said::Odd | Said::Failed(_), Some(one)) => {
                return decided(Verdict::Confirmed, Some(one));
            }
        }
        // The import is named by the references itself.
        let is_another = matches!(said[at], Said::Other { is_interface: false });
        if let Some(one) = named[at].first().copied().filter(|_| at != site && !is_another) {
            return Decided { is_missed: by_references.is_none(), ..decided(Verdict::Confirmed, Some(one)) };
        }
    }
    match by_references {
        Some(one) => decided(Verdict::Confirmed, Some(one)),
        None => decided(Verdict::Undecided(silent), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_decide() {
        let check = |named: &[usize], said: Said, wanted: (Verdict, Option<usize>, bool)| {
            let decided = decide(0, &[named.to_vec()], std::slice::from_ref(&said), Code::Dynamic);
            assert_eq!((decided.verdict, decided.meant, decided.is_missed), wanted, "{named:?} {said:?}");
        };
        let other = Said::Other { is_interface: false };
        check(&[0], Said::Ours(0), (Verdict::Confirmed, Some(0), false));
        check(&[], Said::Ours(1), (Verdict::Confirmed, Some(1), true));
        check(&[0, 1], Said::Ours(1), (Verdict::Confirmed, Some(1), false));
        check(&[0], Said::Nothing, (Verdict::Confirmed, Some(0), false));
        // An empty list proves nothing.
        check(&[], Said::Nothing, (Verdict::Undecided(Code::Dynamic), None, false));
        check(&[], Said::Odd, (Verdict::Undecided(Code::Stale), None, false));
        check(&[], Said::Failed(Code::OutOfTime), (Verdict::Undecided(Code::OutOfTime), None, false));
        check(&[], other.clone(), (Verdict::Refuted, None, false));
        check(&[0], other, (Verdict::Refuted, None, false));
        check(&[0], Said::Other { is_interface: true }, (Verdict::Confirmed, Some(0), false));
        check(&[], Said::Other { is_interface: true }, (Verdict::Refuted, None, false));
        check(&[], Said::Dispatched(1), (Verdict::Confirmed, Some(1), false));
        check(&[], Said::Through(0), (Verdict::Undecided(Code::Dynamic), None, false));
    }

    #[test]
    fn imports_are_followed() {
        let named = [vec![], vec![], vec![]];
        let through = [Said::Through(1), Said::Through(2), Said::Ours(0)];
        assert_eq!(decide(0, &named, &through, Code::Dynamic).verdict, Verdict::Confirmed);
        let other = [Said::Through(1), Said::Other { is_interface: false }, Said::Nothing];
        assert_eq!(decide(0, &named, &other, Code::Dynamic).verdict, Verdict::Refuted);
        // An import of which nothing is known decides nothing: an early server names the import line.
        let early = [Said::Through(1), Said::Nothing, Said::Nothing];
        assert_eq!(decide(0, &named, &early, Code::Dynamic).verdict, Verdict::Undecided(Code::Dynamic));
        let circle = [Said::Through(1), Said::Through(0), Said::Nothing];
        assert_eq!(decide(0, &named, &circle, Code::Dynamic).verdict, Verdict::Undecided(Code::Dynamic));
        let named = [vec![], vec![0], vec![]];
        let import_named = [Said::Through(1), Said::Nothing, Said::Nothing];
        assert_eq!(decide(0, &named, &import_named, Code::Dynamic).verdict, Verdict::Confirmed);
    }
}

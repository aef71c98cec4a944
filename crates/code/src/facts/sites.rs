//! Conversion of places and heads of answers into facts.

use std::path::Path;

use super::{Basis, Certainty, Symbol, UseSite};
use crate::completeness::Head;
use crate::judgement::Verdict;
use crate::syntax::{Class, Language};
use crate::test_detection::is_test_file;
use crate::tools::display_path;

/// Describes a place, given by its file, line and column.
pub(super) fn use_site(
    (class, language): (Class, Language),
    (path, line, column): (&Path, usize, usize),
    enclosing: &str,
    within: Option<Symbol>,
    verdict: Verdict,
    text: &str,
) -> UseSite {
    UseSite {
        file: display_path(path),
        language,
        line,
        column,
        class,
        enclosing: enclosing.to_owned(),
        in_test: is_test_file(path) || within.as_ref().is_some_and(|one| one.in_test),
        within,
        certainty: certainty(verdict),
        text: project::visible::escaped(text.trim()),
    }
}

pub(super) fn certainty(verdict: Verdict) -> Certainty {
    match verdict {
        Verdict::Confirmed | Verdict::Earlier => Certainty::Verified,
        Verdict::Undecided(_) | Verdict::Refuted => Certainty::Possible,
        Verdict::NotJudged => Certainty::Mention,
    }
}

pub(super) fn basis(head: &Head) -> Basis {
    Basis {
        is_complete: head.is_complete,
        checked_by: head.servers.iter().filter_map(|one| one.ready().map(str::to_owned)).collect(),
        reasons: head.clone().with_reasons().reasons.into_iter().map(|reason| reason.text).collect(),
        ask_again: head.ask_again,
    }
}

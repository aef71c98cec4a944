//! The difference between two lists of diagnostics. A message that only moved counts as unchanged.

use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnostic::{Diagnostic, Severity, without_dot};

/// The changes by a load. The current list is `unchanged` and `added` together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Delta {
    /// New messages.
    pub added: Vec<Diagnostic>,
    /// Messages that are gone.
    pub removed: Vec<Diagnostic>,
    /// Messages that are still present, at their current location.
    pub unchanged: Vec<Diagnostic>,
}

impl Delta {
    /// Compares two lists. Messages are paired by their text, independent of their location.
    #[must_use]
    pub fn compare(before: &[Diagnostic], now: &[Diagnostic]) -> Delta {
        let mut left: Vec<(Identity<'_>, &Diagnostic)> = before.iter().map(|old| (identity(old), old)).collect();
        let mut delta = Delta::default();
        for new in now {
            let key = identity(new);
            match left.iter().position(|(old, _)| *old == key) {
                Some(found) => {
                    left.remove(found);
                    delta.unchanged.push(new.clone());
                }
                None => delta.added.push(new.clone()),
            }
        }
        delta.removed = left.into_iter().map(|(_, old)| old.clone()).collect();
        delta
    }
}

type Identity<'a> = (Option<&'a str>, Severity, Option<&'a str>, Option<&'a str>, String);

fn identity(diagnostic: &Diagnostic) -> Identity<'_> {
    (
        diagnostic.file.as_deref().map(without_dot),
        diagnostic.severity,
        diagnostic.code.as_deref(),
        diagnostic.flag.as_deref(),
        without_places(&diagnostic.message),
    )
}

/// Removes locations from a message ("bound at A.hs:4:3"), which move with the text above them.
fn without_places(message: &str) -> String {
    let mut plain = String::with_capacity(message.len());
    let mut after_colon = false;
    for character in message.chars() {
        if after_colon && (character.is_ascii_digit() || character == '-') {
            continue;
        }
        after_colon = character == ':';
        plain.push(character);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ghc::parse;

    #[test]
    fn places_inside_a_message_are_no_difference() {
        let first = "A.hs:4:8-11: error:\n    • Found hole: _foo\n    • xs :: [Int] (bound at A.hs:4:3)\n";
        let moved = "A.hs:9:8-11: error:\n    • Found hole: _foo\n    • xs :: [Int] (bound at A.hs:9:3)\n";
        let [before, now] = [first, moved].map(|stderr| parse(stderr).diagnostics);
        let delta = Delta::compare(&before, &now);
        assert_eq!((delta.added.len(), delta.removed.len(), delta.unchanged.len()), (0, 0, 1));
        assert_eq!(delta.unchanged[0].line, Some(9));
    }
}

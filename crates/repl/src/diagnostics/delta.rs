//! The current list of diagnostics over many loads, and what each load changed.
//!
//! A reload says nothing about modules that are up to date, so the list is more than the last load's output: a
//! warning stays until its file is compiled again or leaves the program. A message that only moved is no change.

use schemars::JsonSchema;
use serde::Serialize;

use crate::session::{Diagnostic, LoadRecord, Severity};

/// What a load changed. The current list is `unchanged` and `added` together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Delta {
    /// Said now, not said before.
    pub added: Vec<Diagnostic>,
    /// Said before, not any more.
    pub removed: Vec<Diagnostic>,
    /// Said before and still true, at its present place.
    pub unchanged: Vec<Diagnostic>,
}

impl LoadRecord {
    /// This load, taken alone, put behind the one before: numbered, with the whole current list and the difference.
    /// Without a load before, start from the default.
    #[must_use]
    pub fn after(mut self, before: &LoadRecord) -> LoadRecord {
        let compiled: Vec<&str> = self.compiled.iter().map(|file| plain(file)).collect();
        // An error means that its module was not accepted, so the next load tries it again: if it is silent then,
        // the error is gone or hidden behind another. A warning of a module that was not compiled again still holds.
        let still_holds = |old: &&Diagnostic| {
            !self.fresh
                && old.severity != Severity::Error
                && old.file.as_deref().is_some_and(|file| !compiled.contains(&plain(file)))
        };
        let mut list: Vec<Diagnostic> = before.diagnostics.iter().filter(still_holds).cloned().collect();
        for new in std::mem::take(&mut self.diagnostics) {
            if !list.contains(&new) {
                list.push(new);
            }
        }
        self.delta = difference(&before.diagnostics, &list);
        self.diagnostics = list;
        self.generation = before.generation + 1;
        self
    }

    /// Forgets what was said about files that the program no longer has.
    #[must_use]
    pub fn without_files_other_than(mut self, loaded: &[String]) -> LoadRecord {
        let gone = |diagnostic: &Diagnostic| {
            diagnostic.severity != Severity::Error
                && diagnostic.file.as_deref().is_some_and(|file| !loaded.iter().any(|l| plain(l) == plain(file)))
        };
        self.diagnostics.retain(|diagnostic| !gone(diagnostic));
        let (gone, unchanged) = self.delta.unchanged.drain(..).partition(gone);
        self.delta.unchanged = unchanged;
        self.delta.removed.extend::<Vec<_>>(gone);
        self
    }
}

/// Pairs equal messages, wherever they stand now.
fn difference(before: &[Diagnostic], now: &[Diagnostic]) -> Delta {
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

type Identity<'a> = (Option<&'a str>, Severity, Option<&'a str>, Option<&'a str>, String);

fn identity(diagnostic: &Diagnostic) -> Identity<'_> {
    (
        diagnostic.file.as_deref().map(plain),
        diagnostic.severity,
        diagnostic.code.as_deref(),
        diagnostic.flag.as_deref(),
        without_places(&diagnostic.message),
    )
}

/// Messages name places ("bound at A.hs:4:3"), which move with the text above them.
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

fn plain(file: &str) -> &str {
    file.strip_prefix("./").unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn load(files: &[&str], stderr: &str, fresh: bool) -> LoadRecord {
        let compiled = files.iter().map(|file| (*file).to_owned()).collect();
        LoadRecord { ok: true, compiled, diagnostics: parse(stderr).diagnostics, fresh, ..LoadRecord::default() }
    }

    fn counts(load: &LoadRecord) -> (usize, usize, usize) {
        (load.delta.added.len(), load.delta.removed.len(), load.delta.unchanged.len())
    }

    #[test]
    fn warnings_stay_until_their_file_is_compiled_again() {
        let a = "A.hs:3:1: warning: [-Wunused-imports] The import is redundant\n\
                 B.hs:1:1: warning: [-Wtabs] Tab\nB.hs:2:1-3: error: Variable not in scope: x\n";
        let first = load(&["A.hs", "B.hs"], a, true).after(&LoadRecord::default());
        assert_eq!(counts(&first), (3, 0, 0));
        // B is fixed, A is not compiled again; B's warning moved by two lines.
        let second = load(&["B.hs"], "B.hs:3:1: warning: [-Wtabs] Tab\n", false).after(&first);
        assert_eq!(counts(&second), (0, 1, 2));
        assert_eq!(second.diagnostics.len(), 2);
        assert!(second.diagnostics.iter().any(|d| d.file.as_deref() == Some("B.hs") && d.line == Some(3)));
        // A leaves the program.
        let third = load(&[], "", false).after(&second).without_files_other_than(&["./B.hs".to_owned()]);
        assert_eq!(counts(&third), (0, 1, 1));
        assert_eq!(third.diagnostics.len(), 1);
        // A fresh load forgets everything.
        let fourth = load(&[], "", true).after(&third);
        assert_eq!(counts(&fourth), (0, 1, 0));
        assert_eq!(fourth.generation, 4);
    }

    #[test]
    fn places_inside_a_message_are_no_difference() {
        let first = "A.hs:4:8-11: error:\n    • Found hole: _foo\n    • xs :: [Int] (bound at A.hs:4:3)\n";
        let moved = "A.hs:9:8-11: error:\n    • Found hole: _foo\n    • xs :: [Int] (bound at A.hs:9:3)\n";
        let before = load(&["A.hs"], first, true).after(&LoadRecord::default());
        let after = load(&["A.hs"], moved, false).after(&before);
        assert_eq!(counts(&after), (0, 0, 1));
        assert_eq!(after.diagnostics[0].line, Some(9));
    }
}

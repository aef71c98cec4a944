//! The result of loading modules, and the current list of diagnostics over many loads.
//!
//! A reload reports nothing about modules that are up to date, so the current list is more than the last load's output:
//! a warning stays until its file is compiled again or leaves the program. `adapter/ghci/load.rs` parses the output of
//! a load.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::SystemTime;

use diagnostics::{Delta, Diagnostic, Severity};

use crate::default_session::arguments;

/// The outcome of the last load (`:load`, `:reload`, `:add`, the start), kept for `repl_diagnostics`.
#[derive(Debug, Clone, Default)]
pub struct LoadRecord {
    /// Counts loads from 1; 0 means that there was none.
    pub generation: u64,
    /// True if everything loaded.
    pub ok: bool,
    /// The REPL's own summary line, such as `Ok, two modules loaded.`
    pub summary: String,
    /// All messages about the program now, once [`LoadRecord::continue_from`] was called; before that, the messages of this
    /// load.
    pub diagnostics: Vec<Diagnostic>,
    /// The changes by this load; filled by [`LoadRecord::continue_from`].
    pub delta: Delta,
    /// The files compiled in this load.
    pub compiled: Vec<String>,
    /// The files that this and the loads before it compiled.
    pub sources: BTreeSet<String>,
    /// When it ended.
    pub at: Option<SystemTime>,
    /// When the first load of this process ended.
    pub first_at: Option<SystemTime>,
    /// The time up to which changes of the files were reported, in nanoseconds.
    pub told: Arc<AtomicU64>,
    /// True if callers were told that the session's first load failed.
    pub failure_told: Arc<AtomicBool>,
    /// True if the load started from nothing, so that earlier diagnostics no longer count.
    pub fresh: bool,
}

impl LoadRecord {
    /// Returns true if no module was loaded and nothing failed.
    pub fn is_empty(&self) -> bool {
        let has_none = self.summary.is_empty() || self.summary.contains("no modules");
        self.generation == 0 || self.ok && self.compiled.is_empty() && has_none
    }

    /// Returns the failure and a hint, or `None` if the load did not fail. GHCi has unloaded the modules that it could
    /// not compile, and all modules that import them.
    pub fn failure(&self, session: &str) -> Option<String> {
        if self.generation == 0 || self.ok {
            return None;
        }
        let error = self.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
        let error = error.map_or_else(|| self.summary.trim_end_matches('.').to_owned(), Diagnostic::summary);
        let arguments = arguments(session);
        Some(format!(
            "The last load failed: {error}. Correct it and call repl_reload{arguments}; repl_diagnostics{arguments} \
             lists all messages."
        ))
    }

    /// Turns this load, taken alone, into the successor of `before`: numbered, with the whole current list and the
    /// difference. The first load follows the default.
    #[must_use]
    pub fn continue_from(mut self, before: &LoadRecord) -> LoadRecord {
        // An error means that its module was rejected, so the next load tries it again: if that is silent, the error is
        // fixed or hidden by another one. A warning about a module that was not recompiled still holds.
        let still_holds = |old: &&Diagnostic| {
            !self.fresh
                && old.severity != Severity::Error
                && old.file.is_some()
                && !self.compiled.iter().any(|file| old.is_about(file))
        };
        let mut list: Vec<Diagnostic> = before.diagnostics.iter().filter(still_holds).cloned().collect();
        for new in std::mem::take(&mut self.diagnostics) {
            if !list.contains(&new) {
                list.push(new);
            }
        }
        self.sources.extend(self.compiled.iter().cloned());
        if !self.fresh {
            self.sources.extend(before.sources.iter().cloned());
        }
        self.delta = Delta::compare(&before.diagnostics, &list);
        self.diagnostics = list;
        self.generation = before.generation + 1;
        self
    }

    /// Drops diagnostics about files that the program no longer has.
    #[must_use]
    pub fn without_files_other_than(mut self, loaded: &[String]) -> LoadRecord {
        let gone = |diagnostic: &Diagnostic| {
            diagnostic.severity != Severity::Error
                && diagnostic.file.is_some()
                && !loaded.iter().any(|file| diagnostic.is_about(file))
        };
        self.diagnostics.retain(|diagnostic| !gone(diagnostic));
        let (gone, unchanged) = self.delta.unchanged.drain(..).partition(gone);
        self.delta.unchanged = unchanged;
        self.delta.removed.extend::<Vec<_>>(gone);
        self
    }
}

#[cfg(test)]
mod tests {
    use diagnostics::ghc::parse;

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
        let first = load(&["A.hs", "B.hs"], a, true).continue_from(&LoadRecord::default());
        assert_eq!(counts(&first), (3, 0, 0));
        // B is fixed, A is not compiled again; B's warning moved by two lines.
        let second = load(&["B.hs"], "B.hs:3:1: warning: [-Wtabs] Tab\n", false).continue_from(&first);
        assert_eq!(counts(&second), (0, 1, 2));
        assert_eq!(second.diagnostics.len(), 2);
        assert!(second.diagnostics.iter().any(|d| d.file.as_deref() == Some("B.hs") && d.line == Some(3)));
        // A leaves the program.
        let third = load(&[], "", false).continue_from(&second).without_files_other_than(&["./B.hs".to_owned()]);
        assert_eq!(counts(&third), (0, 1, 1));
        assert_eq!(third.diagnostics.len(), 1);
        // A fresh load forgets everything.
        let fourth = load(&[], "", true).continue_from(&third);
        assert_eq!(counts(&fourth), (0, 1, 0));
        assert_eq!(fourth.generation, 4);
    }
}

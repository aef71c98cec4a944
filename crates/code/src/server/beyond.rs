//! Files that a server reads but the watcher of the worktree does not cover: modules in ignored or linked folders, and
//! crates outside the root. They are checked before each question, and changes are sent to the server.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::documents::{Stamp, stamp};
use crate::lsp::of_path;

#[derive(Debug, Default)]
pub(super) struct Beyond(HashMap<PathBuf, Option<Stamp>>);

impl Beyond {
    /// Returns the changes since the last check in the protocol's form. A file checked for the first time counts as changed. Blocks.
    pub(super) fn changes(&mut self, files: BTreeSet<PathBuf>) -> Vec<Value> {
        // A file that is no longer used may be used again later.
        let gone: Vec<PathBuf> =
            self.0.keys().filter(|path| !files.contains(*path) && !path.exists()).cloned().collect();
        let mut changes = Vec::new();
        for path in files.into_iter().chain(gone) {
            let now = stamp(&path);
            if self.0.get(&path) != Some(&now) {
                let kind = if now.is_some() { 2 } else { 3 };
                changes.push(json!({"uri": of_path(&path), "type": kind}));
                self.0.insert(path, now);
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.rs");
        std::fs::write(&file, "a").unwrap();
        let mut beyond = Beyond::default();
        let mut kinds = |files: Vec<PathBuf>| {
            let changes = beyond.changes(files.into_iter().collect());
            changes.iter().map(|change| change["type"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(kinds(vec![file.clone()]), [2]);
        assert_eq!(kinds(vec![file.clone()]), [0; 0]);
        std::fs::write(&file, "longer").unwrap();
        assert_eq!(kinds(vec![file.clone()]), [2]);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(kinds(Vec::new()), [3]);
        assert_eq!(kinds(Vec::new()), [0; 0]);
    }

    #[test]
    fn many_files_take_no_time_of_their_square() {
        let files = |of: &str| (0..30_000).map(|number| PathBuf::from(format!("/absent/{of}/{number}.rs"))).collect();
        let (mut beyond, begun) = (Beyond::default(), std::time::Instant::now());
        assert_eq!(beyond.changes(files("a")).len(), 30_000);
        assert!(beyond.changes(files("b")).len() == 30_000 && beyond.changes(files("a")).is_empty());
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}

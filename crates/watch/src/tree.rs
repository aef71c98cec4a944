//! The known tree: each path with its stamp, and the changes since the last publication.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::change::{ChangeKind, FileKind, Pending};
use crate::files::Stamp;

#[derive(Default)]
pub(crate) struct Tree {
    entries: BTreeMap<Arc<Path>, Entry>,
    directories: usize,
    /// Number of the current scan. Entries with an older number were not found by it.
    scan: u64,
    /// Events may be missing, so a stamp that might hide a change counts as a change.
    pub(crate) in_doubt: bool,
    pub(crate) changes: Pending,
}

struct Entry {
    stamp: Stamp,
    scan: u64,
}

/// Result of [`Tree::set`], for directories.
pub(crate) struct Update {
    /// Its contents may be outdated, or it is no longer watched.
    pub(crate) is_other: bool,
    /// The path was a directory before and is not one now.
    pub(crate) replaces_directory: bool,
}

impl Tree {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of directories, including the root.
    pub(crate) fn directories(&self) -> usize {
        self.directories + 1
    }

    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// True if the path is a directory; always true for the root.
    pub(crate) fn is_directory(&self, path: &Path) -> bool {
        path.as_os_str().is_empty() || self.entries.get(path).is_some_and(|entry| entry.stamp.is_directory())
    }

    /// Records the stamp of a path. `written` means that its content changed, whatever the stamps show.
    pub(crate) fn set(&mut self, path: &Path, stamp: Stamp, written: bool) -> Update {
        let scan = self.scan;
        let Some(entry) = self.entries.get_mut(path) else {
            let path: Arc<Path> = path.into();
            self.directories += usize::from(stamp.is_directory());
            self.changes.add(&path, ChangeKind::Created, stamp.kind);
            self.entries.insert(path, Entry { stamp, scan });
            return Update { is_other: true, replaces_directory: false };
        };
        let before = std::mem::replace(entry, Entry { stamp, scan }).stamp;
        let was_directory = before.is_directory();
        let differs = if stamp.is_directory() && was_directory {
            false
        } else {
            written || before != stamp || (self.in_doubt && before.is_racy())
        };
        if differs {
            let (path, _) = self.entries.get_key_value(path).expect("it was there just now");
            self.changes.add(path, ChangeKind::Modified, stamp.kind);
        }
        self.directories = self.directories + usize::from(stamp.is_directory()) - usize::from(was_directory);
        Update {
            is_other: stamp.kind != before.kind || stamp.has_other_access(&before),
            replaces_directory: was_directory && !stamp.is_directory(),
        }
    }

    /// Removes the path and everything below it. Returns the removed directories.
    pub(crate) fn forget(&mut self, path: &Path) -> Vec<PathBuf> {
        let gone: Vec<_> = self.paths_below(path, |_| true);
        self.remove(gone)
    }

    pub(crate) fn forget_below(&mut self, path: &Path) -> Vec<PathBuf> {
        let gone = self.paths_below(path, |(at, _)| ***at != *path);
        self.remove(gone)
    }

    pub(crate) fn begin_scan(&mut self) {
        self.scan += 1;
    }

    /// Keeps the known entries below a directory that could not be read because of a temporary error.
    pub(crate) fn keep_below(&mut self, path: &Path) {
        for at in self.paths_below(path, |_| true) {
            self.entries.get_mut(&at).expect("it was there just now").scan = self.scan;
        }
    }

    /// Removes the entries below the directory that the scan did not find. Returns the removed directories.
    pub(crate) fn end_scan(&mut self, dir: &Path) -> Vec<PathBuf> {
        let gone = self.paths_below(dir, |(at, entry)| entry.scan != self.scan && ***at != *dir);
        self.remove(gone)
    }

    fn paths_below(&self, path: &Path, wanted: impl Fn(&(&Arc<Path>, &Entry)) -> bool) -> Vec<Arc<Path>> {
        let from = self.entries.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        from.take_while(|(at, _)| at.starts_with(path)).filter(wanted).map(|(at, _)| at.clone()).collect()
    }

    fn remove(&mut self, gone: Vec<Arc<Path>>) -> Vec<PathBuf> {
        let mut directories = Vec::new();
        for path in gone {
            let entry = self.entries.remove(&path).expect("it was there just now");
            self.changes.add(&path, ChangeKind::Removed, entry.stamp.kind);
            if entry.stamp.kind == FileKind::Directory {
                self.directories -= 1;
                directories.push(path.to_path_buf());
            }
        }
        directories
    }
}

//! Change batches, and the merging of successive changes to one path.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;

/// Kind of file at a path. Symbolic links are never followed; FIFOs, sockets and devices are never opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    File,
    Directory,
    Symlink,
    /// A FIFO, a socket or a device.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The path did not exist before, or was ignored.
    Created,
    /// Its content, attributes or file kind changed. A directory is reported as modified only if it replaces a file or
    /// another directory.
    Modified,
    /// The path was deleted, or is now ignored.
    Removed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the root.
    pub path: Arc<Path>,
    pub kind: ChangeKind,
    /// Kind of file at the path; for a removed path, its previous kind.
    pub file: FileKind,
}

/// Changes sorted by path, each path once. A directory comes before its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub changes: Vec<Change>,
}

/// Changes not delivered yet. A path that is created and then removed leaves no entry, so the size is bounded by the
/// paths before plus the paths after.
#[derive(Debug, Default)]
pub(crate) struct Pending(BTreeMap<Arc<Path>, (ChangeKind, FileKind)>);

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, path: &Arc<Path>, kind: ChangeKind, file: FileKind) {
        use ChangeKind::{Created, Modified, Removed};
        match self.0.entry(path.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert((kind, file));
            }
            Entry::Occupied(mut before) => match (before.get().0, kind) {
                (Created, Removed) => {
                    before.remove();
                }
                (Created, _) => {
                    before.insert((Created, file));
                }
                (_, Removed) => {
                    before.insert((Removed, file));
                }
                (Modified | Removed, Created | Modified) => {
                    before.insert((Modified, file));
                }
            },
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<Path>, ChangeKind, FileKind)> {
        self.0.iter().map(|(path, (kind, file))| (path, *kind, *file))
    }

    pub(crate) fn take(&mut self) -> Batch {
        let changes = std::mem::take(&mut self.0).into_iter();
        Batch { changes: changes.map(|(path, (kind, file))| Change { path, kind, file }).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_changes_are_what_they_are_together() {
        use ChangeKind::{Created, Modified, Removed};
        let cases = [
            (Created, Modified, Some(Created)),
            (Created, Removed, None),
            (Modified, Modified, Some(Modified)),
            (Modified, Removed, Some(Removed)),
            (Removed, Created, Some(Modified)),
        ];
        for (first, second, both) in cases {
            let mut pending = Pending::default();
            let path: Arc<Path> = Path::new("a").into();
            pending.add(&path, first, FileKind::File);
            pending.add(&path, second, FileKind::File);
            let kinds: Vec<_> = pending.take().changes.iter().map(|change| change.kind).collect();
            assert_eq!(kinds, both.into_iter().collect::<Vec<_>>(), "{first:?} then {second:?}");
        }
    }
}

//! What is delivered: changes of paths, and how two changes of one path become one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;

/// What a path names. A symbolic link is never followed, and what is neither file, directory nor link is never opened.
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
    /// The path was not there, or was ignored.
    Created,
    /// Its content, its attributes or its kind are others. Directories are never modified, unless they replace a file or
    /// another directory.
    Modified,
    /// The path is gone, or is ignored now.
    Removed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the root.
    pub path: Arc<Path>,
    pub kind: ChangeKind,
    /// What the path names; of a removed one, what it named.
    pub file: FileKind,
}

/// Changes in the order of their paths, each path once: a parent comes before what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub changes: Vec<Change>,
}

/// Changes that are not delivered yet. A path created and removed meanwhile leaves nothing behind, so there are never more
/// than paths before and after together.
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

//! The owner of a file, without following links, and other users who can change the file at a path.

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::visible;

/// Returns the user this process acts as.
pub(crate) fn current_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns true if something at `path` (a link counts as itself) belongs to this user.
pub(crate) fn is_mine(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.uid() == current_user())
}

/// Returns true if this is a real directory of this user that no other user can write to or read.
pub(crate) fn is_private_directory(metadata: &Metadata) -> bool {
    metadata.is_dir() && metadata.uid() == current_user() && metadata.mode() & 0o077 == 0
}

/// A file or directory that another user made or may change.
#[derive(Debug, PartialEq, Eq)]
pub struct Foreign {
    pub(crate) path: PathBuf,
    pub(crate) owner: u32,
    mode: u32,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Foreign { path, owner, mode } = self;
        let path = visible::path(path);
        if *owner == 0 {
            write!(f, "{path} can be written to by every user (mode {:04o})", mode & 0o7777)
        } else {
            write!(f, "{path} belongs to user {owner}, not to you (user {})", current_user())
        }
    }
}

/// Returns the path by which another user can change the file at `path`, from `base` down to it: a directory, a link or
/// the file itself that belongs neither to this user nor to root, or a directory of root's that everyone may change. If
/// `base` does not exist, the nearest existing directory above it counts: its owner decides. In a sticky directory
/// users cannot replace each other's files, so only the file itself counts.
pub(crate) fn foreign(base: &Path, path: &Path) -> Option<Foreign> {
    let mut is_there = false;
    for at in path.ancestors() {
        if is_there && !at.starts_with(base) {
            break;
        }
        // Checks a link, then its target.
        let asked = [at.symlink_metadata(), at.metadata()];
        is_there = asked[0].as_ref().err().is_none_or(|error| error.kind() != io::ErrorKind::NotFound);
        for metadata in asked.into_iter().flatten() {
            let mode = metadata.mode();
            let open_to_all = metadata.is_dir() && metadata.uid() == 0 && mode & 0o1002 == 0o002;
            if current_user() != 0 && open_to_all || ![current_user(), 0].contains(&metadata.uid()) {
                return Some(Foreign { path: at.to_owned(), owner: metadata.uid(), mode });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    #[test]
    fn who_else_decides_what_stands_at_a_path() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().join("base");
        let path = base.join("hob/file");
        assert_eq!(foreign(&base, &path), None, "nothing is there");
        fs::create_dir_all(base.join("hob")).unwrap();
        fs::write(&path, "").unwrap();
        assert_eq!(foreign(&base, &path), None);
        if current_user() != 0 {
            return;
        }
        let found = |at: &Path| {
            lchown(at, Some(12345), None).unwrap();
            let found = foreign(&base, &path).map(|foreign| foreign.path);
            lchown(at, Some(0), None).unwrap();
            found
        };
        for at in [&path, path.parent().unwrap(), &base] {
            assert_eq!(found(at).as_deref(), Some(at));
        }
        assert_eq!(found(temp.path()), None, "above the base");
        // Another user's link to a file of ours.
        fs::rename(&path, temp.path().join("mine")).unwrap();
        symlink(temp.path().join("mine"), &path).unwrap();
        assert_eq!(foreign(&base, &path), None);
        assert_eq!(found(&path).as_deref(), Some(&*path));
        // If nothing exists, the user who may create it decides.
        fs::remove_dir_all(&base).unwrap();
        assert_eq!(found(temp.path()).as_deref(), Some(temp.path()));
        fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

//! The file `root` in a state directory. It names the root that the state belongs to; its modification time is that of
//! the last use; its lock shows whether the state is in use.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::root::{hash_of, is_hash};

/// The file's name. Users of the state hold its lock; its modification time is that of the last use.
pub(crate) const ROOT: &str = "root";

/// Returns the root that the note of a state directory names, in use or not.
pub(crate) fn root_of(directory: &Path) -> Option<PathBuf> {
    let name = directory.with_extension("");
    read_root(&mut open(&directory.join(ROOT), false).ok()?).filter(|root| name.ends_with(hash_of(root)))
}

/// Returns the note of a state directory, locked, and the root it names; `None` if the directory is in use or the note
/// is not hob's.
pub(crate) fn sole_use(directory: &Path) -> Option<(File, PathBuf)> {
    let note = directory.join(ROOT);
    let mut file = open(&note, false).ok()?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() || !is_at(&file, &note) {
        return None;
    }
    let name = directory.with_extension("");
    let root = read_root(&mut file).filter(|root| name.ends_with(hash_of(root)))?;
    Some((file, root))
}

/// Returns true if a path is named like a state directory, or like one that was set aside.
pub(crate) fn is_state(path: &Path) -> bool {
    let is_number = |end: &std::ffi::OsStr| end.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    path.extension().is_none_or(is_number) && is_hash(&path.with_extension(""))
}

pub(crate) fn open(note: &Path, make: bool) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).write(true).create(make).truncate(false).mode(0o600).custom_flags(flags).open(note)
}

/// Takes the lock. Returns true if it was taken, or the file system has no locks: then nothing is excluded, and nothing cleaned up.
pub(crate) fn lock(file: &File, operation: FlockOperation) -> bool {
    flock(file, operation) != Err(Errno::WOULDBLOCK)
}

pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let inode = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().is_ok_and(|file| path.symlink_metadata().is_ok_and(|there| inode(there) == inode(file)))
}

pub(crate) fn write_root(file: &mut File, root: &Path) -> io::Result<()> {
    if read_root(file).as_deref() == Some(root) {
        return Ok(());
    }
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(root.as_os_str().as_encoded_bytes())
}

pub(crate) fn read_root(file: &mut File) -> Option<PathBuf> {
    let mut root = String::new();
    file.take(8192).read_to_string(&mut root).ok()?;
    Some(PathBuf::from(root)).filter(|root| root.is_absolute())
}

//! One daemon per project: an advisory lock on `.hob/lock`, held for the daemon's life and released by the kernel
//! whatever ends it. The file's text only helps people.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::{PathError, Project, VERSION};

/// The lock, held. Released when dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    /// Held too where the state is outside the project.
    _root: Option<File>,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum LockError {
    #[error("another daemon of this project is running{}; `hob status` shows it, `hob stop` ends it", pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Held { pid: Option<u32> },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("lock {path}: {source}; check that the file belongs to you and that the disk is not full")]
    Io { path: PathBuf, source: io::Error },
}

impl Lock {
    /// Takes the project's lock without waiting.
    pub fn acquire(project: &Project) -> Result<Lock, LockError> {
        project.create_hob_dir()?;
        let path = project.lock_path();
        let failed = |source: io::Error| LockError::Io { path: path.clone(), source };
        let root = lock_root(project)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(LockError::Held { pid: holder(&mut file) }),
            Err(errno) => return Err(failed(errno.into())),
        }
        // On a full disk the note is lost and the lock still holds.
        let _ = note(&mut file);
        Ok(Lock { _file: file, _root: root })
    }
}

/// The state directory of a read-only project depends on the environment, its root does not: locking the root keeps
/// daemons with different environments apart, and needs no right to write.
fn lock_root(project: &Project) -> Result<Option<File>, LockError> {
    if !project.is_read_only() {
        return Ok(None);
    }
    let path = project.root();
    let failed = |source: io::Error| LockError::Io { path: path.to_owned(), source };
    let root = File::open(path).map_err(failed)?;
    match flock(&root, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(LockError::Held { pid: None }),
        // A file system without locks (some network ones): the lock in the state directory has to do.
        _ => Ok(Some(root)),
    }
}

fn note(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{} {VERSION}", std::process::id())
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(64).read_to_string(&mut text).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn held_once_and_free_again() {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        let lock = Lock::acquire(&project).unwrap();
        let refused = Lock::acquire(&project).unwrap_err().to_string();
        let me = std::process::id();
        assert_eq!(
            refused,
            format!("another daemon of this project is running (pid {me}); `hob status` shows it, `hob stop` ends it")
        );
        drop(lock);
        Lock::acquire(&project).unwrap();
    }
}

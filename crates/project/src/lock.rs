//! One daemon per project: advisory locks on the project's root and on `lock` in its state directory. The daemon holds
//! them as long as it runs, and the kernel releases them however it ends. The file's text is only for people.
//!
//! The root identifies the project: the locations of its state and socket depend on the environment, and both may be
//! moved or removed while a daemon runs.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::regular::is_absent;
use crate::visible::{cause, path as shown};
use crate::{PathError, Project, VERSION, owner};

/// The lock, held. Released when dropped.
#[derive(Debug)]
pub struct Lock {
    _file: Option<File>,
    root: Option<File>,
}

/// Reasons why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another daemon of this project is running{}; `hob status` shows it, `hob stop` ends it", pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Held { pid: Option<u32> },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(
        "cannot lock {}: {}; check that the file belongs to you and that the disk is not full",
        shown(path),
        cause(source)
    )]
    Io { path: PathBuf, source: io::Error },
}

impl Lock {
    /// Takes the project's lock without waiting.
    pub fn acquire(project: &Project) -> Result<Lock, LockError> {
        let root = lock_root(project)?;
        match project.create_state_dir() {
            // A daemon that is about to exit holds this lock, or just did.
            Err(PathError::InUse { path }) => {
                let pid = File::open(path.join("lock")).ok().and_then(|mut file| holder(&mut file));
                return Err(LockError::Held { pid });
            }
            made => drop(made?),
        }
        let path = project.lock_path();
        let failed = |source: io::Error| LockError::Io { path: path.clone(), source };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path);
        let mut file = match file {
            Ok(file) => file,
            // A read-only state directory can still be served; the lock on the root suffices.
            Err(error) if root.is_some() && is_unwritable(&error) => return Ok(Lock { _file: None, root }),
            Err(error) => return Err(failed(error)),
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(LockError::Held { pid: holder(&mut file) }),
            Err(errno) => return Err(failed(errno.into())),
        }
        // On a full disk the note is lost and the lock still holds.
        let _ = note(&mut file);
        Ok(Lock { _file: Some(file), root })
    }

    /// Returns true if the project is still at its path: neither moved nor replaced. True if that cannot be determined.
    pub fn is_in_place(&self, project: &Project) -> bool {
        let Some(Ok(held)) = self.root.as_ref().map(File::metadata) else { return true };
        match std::fs::metadata(project.root()) {
            Ok(there) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
            Err(error) => !is_absent(&error),
        }
    }
}

fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}

/// Returns the root that the daemon `pid` began to serve, if the project was moved since and the daemon can no longer
/// be found. `None` for any other process: a name among a process's arguments does not prove anything.
pub fn served_at(project: &Project, pid: u32) -> Option<PathBuf> {
    let process = Holder::from_pid(pid)?;
    let former = process.is_hob().then(|| root_of_daemon(&process.arguments()))??;
    let here = std::fs::metadata(project.root()).ok()?;
    match std::fs::metadata(&former) {
        Ok(there) => (there.dev(), there.ino()) != (here.dev(), here.ino()),
        Err(error) => is_absent(&error),
    }
    .then_some(former)
}

/// Returns true if the process `pid` is a daemon of this user.
pub fn serves(pid: u32) -> bool {
    Holder::from_pid(pid).is_some_and(|holder| holder.is_daemon())
}

/// Returns the root that a daemon serves, from the arguments with which front-ends start daemons. A daemon that was
/// started by hand must be ended by hand.
fn root_of_daemon(arguments: &[Vec<u8>]) -> Option<PathBuf> {
    let [_, rest @ ..] = arguments else { return None };
    let [serve, background, project, root] = rest else { return None };
    let is_ours = serve == b"serve" && background == b"--background" && project == b"--project";
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(root))).filter(|root| is_ours && root.is_absolute())
}

/// Locks the root. This needs no write permission, so it also works for a read-only project.
fn lock_root(project: &Project) -> Result<Option<File>, LockError> {
    // If the root cannot be read, the lock in the state directory must suffice.
    let Ok(root) = File::open(project.root()) else { return Ok(None) };
    match flock(&root, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => match lock_holder(&root) {
            // Any process that can read the directory can lock it, including another user's and `flock . make`: only
            // daemons count.
            Some(holder) if !holder.is_daemon() => Ok(None),
            holder => Err(LockError::Held { pid: holder.map(|holder| holder.pid) }),
        },
        // Some file systems (network ones) have no locks.
        _ => Ok(Some(root)),
    }
}

/// A process that holds a lock.
struct Holder {
    pid: u32,
    uid: u32,
}

impl Holder {
    fn from_pid(pid: u32) -> Option<Holder> {
        Some(Holder { pid, uid: system::owner(pid.cast_signed())? })
    }

    /// Returns true if it is a daemon of this user.
    fn is_daemon(&self) -> bool {
        let serves = || self.arguments().iter().any(|argument| argument == b"serve");
        self.pid == std::process::id() || self.is_hob() && serves()
    }

    /// Returns true if it is this user's and runs a program with the name of this one, which an upgrade may have
    /// replaced. Only the kernel's information counts: arguments can be forged.
    fn is_hob(&self) -> bool {
        let name = |program: Option<PathBuf>| {
            let program = program?;
            let name = program.file_name()?.as_bytes().to_owned();
            Some(name.strip_suffix(b" (deleted)").map(<[u8]>::to_owned).unwrap_or(name))
        };
        self.uid == owner::current_user()
            && name(system::program(self.pid.cast_signed()))
                .is_some_and(|theirs| Some(theirs) == name(std::env::current_exe().ok()))
    }

    fn arguments(&self) -> Vec<Vec<u8>> {
        let line = system::arguments(self.pid.cast_signed()).unwrap_or_default();
        let line = line.strip_suffix(&[0]).unwrap_or(&line);
        line.split(|byte| *byte == 0).map(<[u8]>::to_owned).collect()
    }
}

/// Returns the process that locks a file or directory, if the system reports it.
fn lock_holder(locked: &File) -> Option<Holder> {
    let holders = system::lock_holders(locked).into_iter();
    let holders = holders.filter_map(|(pid, exact)| Some((exact, Holder::from_pid(pid.cast_unsigned())?)));
    // On some file systems the device number here differs from that of stat(2); then a process of ours is more likely.
    holders.max_by_key(|(exact, holder)| (*exact, holder.uid == owner::current_user())).map(|(_, holder)| holder)
}

fn note(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{} {VERSION}", std::process::id())
}

/// Returns the process that holds the lock file: according to the kernel, otherwise to its text.
fn holder(file: &mut File) -> Option<u32> {
    if let Some(holder) = lock_holder(file) {
        return Some(holder.pid);
    }
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

    #[test]
    fn only_what_front_ends_start_is_known_by_its_arguments() {
        let root = |line: &str| root_of_daemon(&line.split(' ').map(|word| word.into()).collect::<Vec<_>>());
        assert_eq!(root("hob serve --background --project /a/b"), Some("/a/b".into()));
        for other in [
            "hob serve --background --project app",
            "hob serve --project /a/b",
            "hob serve --background --project /a/b --more",
            "flock . sh serve --background --project /a/b",
            "sh -c exit serve --project app",
            "",
        ] {
            assert_eq!(root(other), None, "{other}");
        }
    }

    #[test]
    fn a_process_is_known_by_its_program() {
        assert!(Holder::from_pid(std::process::id()).unwrap().is_hob());
        assert!(Holder::from_pid(std::os::unix::process::parent_id()).is_none_or(|parent| !parent.is_hob()));
        assert!(!serves(std::os::unix::process::parent_id()));
    }

    #[test]
    fn held_even_if_the_state_directory_goes_away() {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        let _lock = Lock::acquire(&project).unwrap();
        std::fs::rename(project.state_dir(), temp.path().join("elsewhere")).unwrap();
        let me = std::process::id();
        assert!(matches!(Lock::acquire(&project), Err(LockError::Held { pid: Some(pid) }) if pid == me));
        assert!(!project.state_dir().exists());
    }
}

//! The daemon's socket: binding it under the lock, finding it, and identifying the user at the other end.

use std::fs;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::visible::{cause, path as shown};
use crate::{Lock, PathError, Project, owner, runtime_dir, stale_files};

/// Reasons why the socket could not be bound or reached.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("a process listens at {} without the project's lock; end that process, or remove the file", shown(path))]
    InUse { path: PathBuf },
    #[error("cannot create the socket {}: it is a directory; remove it", shown(path))]
    IsDirectory { path: PathBuf },
    #[error(
        "cannot create the socket {}: {}; check that the directory is writable and the disk not full",
        shown(path),
        cause(source)
    )]
    Bind { path: PathBuf, source: io::Error },
    #[error("cannot connect to {}: {}; check that you own the file and its directory", shown(path), cause(source))]
    Connect { path: PathBuf, source: io::Error },
    #[error(
        "this process may not connect to the daemon's socket {} ({source}): it is probably in an agent's sandbox, \
         which blocks sockets",
        shown(path)
    )]
    Sandboxed { path: PathBuf, source: io::Error },
    #[error(
        "the socket {} belongs to a process of user {uid}, not to yours; remove the file, or set XDG_RUNTIME_DIR to \
         your own directory",
        shown(path)
    )]
    ForeignPeer { path: PathBuf, uid: u32 },
}

/// The process at the other end of a Unix socket, according to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The process's number when it connected.
    pub pid: u32,
    pub uid: u32,
}

/// Returns the process at the other end.
pub fn peer(stream: &impl AsFd) -> io::Result<Peer> {
    let (pid, uid) = system::peer(stream)?;
    Ok(Peer { pid: pid.cast_unsigned(), uid })
}

impl Peer {
    /// Returns true if it runs as the same user as this process.
    pub fn is_me(&self) -> bool {
        self.uid == owner::current_user()
    }
}

/// A socket file that this process bound. Dropping it leaves the file; [`Bound::remove`] removes it.
#[derive(Debug)]
pub struct Bound {
    path: PathBuf,
    note: PathBuf,
    inode: (u64, u64),
}

/// Binds the project's socket, mode 0600. A stale socket of an earlier daemon is recognised by connecting to it, and
/// replaced. The lock proves that no other daemon of the project is alive.
pub fn bind(project: &Project, _lock: &Lock) -> Result<(UnixListener, Bound), SocketError> {
    runtime_dir::create_runtime_dir()?;
    let path = project.socket_path()?;
    let failed = |source: io::Error| SocketError::Bind { path: path.clone(), source };
    // Until it listens, it looks stale.
    let _turn = path.parent().and_then(stale_files::turn);
    if path.symlink_metadata().is_ok() {
        match UnixStream::connect(&path) {
            Ok(_) => return Err(SocketError::InUse { path }),
            Err(_) if path.is_dir() => return Err(SocketError::IsDirectory { path }),
            Err(_) => fs::remove_file(&path).map_err(failed)?,
        }
    }
    let listener = UnixListener::bind(&path).map_err(failed)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    let metadata = path.symlink_metadata().map_err(failed)?;
    let bound = Bound { inode: (metadata.dev(), metadata.ino()), note: project.socket_note_path(), path };
    // Only clients with another environment need the note; without it (a full disk) the others still find the daemon.
    let _ = write_note(&bound.note, &bound.path);
    Ok((listener, bound))
}

impl Bound {
    /// Returns the socket's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the file is still the one that was bound. If a cleaner removed it, bind again.
    pub fn is_in_place(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.inode)
    }

    /// Rewrites the note for clients with another environment: it disappears with the state directory.
    pub fn renew_note(&self, project: &Project) {
        if self.note.symlink_metadata().is_err() && project.create_state_dir().is_ok() {
            // Without it (a full disk) clients with the same environment still find the daemon.
            let _ = write_note(&self.note, &self.path);
        }
    }

    /// Removes the file, unless it belongs to another process by now.
    pub fn remove(&self) {
        if self.is_in_place() {
            // A remaining socket is recognised as stale.
            let _ = fs::remove_file(&self.path);
            let _ = fs::remove_file(&self.note);
        }
    }
}

/// Connects to the project's daemon: at the path of this environment, otherwise at the path in the daemon's note.
/// `Ok(None)` when no daemon runs. The other end always belongs to this user.
pub fn connect(project: &Project) -> Result<Option<UnixStream>, SocketError> {
    let here = project.socket_path();
    if let Ok(path) = &here
        && let Some(stream) = connect_at(path)?
    {
        return Ok(Some(stream));
    }
    if let Some(path) = read_note(project)
        && here.as_ref().ok() != Some(&path)
        && let Some(stream) = connect_at(&path)?
    {
        return Ok(Some(stream));
    }
    here?;
    Ok(None)
}

/// Returns true if the last daemon exited without removing its socket, since it was killed or crashed. Call it only if none is running.
pub fn is_left_over(project: &Project) -> bool {
    let paths = [project.socket_path().ok(), read_note(project)];
    paths.into_iter().flatten().any(|path| path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_socket()))
}

fn connect_at(path: &Path) -> Result<Option<UnixStream>, SocketError> {
    match UnixStream::connect(path) {
        Ok(stream) => {
            let peer = peer(&stream).map_err(|source| SocketError::Connect { path: path.to_owned(), source })?;
            if peer.is_me() {
                Ok(Some(stream))
            } else {
                Err(SocketError::ForeignPeer { path: path.to_owned(), uid: peer.uid })
            }
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => Ok(None),
        Err(source) => {
            let path = path.to_owned();
            if is_sandboxed(&path, &source) {
                Err(SocketError::Sandboxed { path, source })
            } else {
                Err(SocketError::Connect { path, source })
            }
        }
    }
}

/// Returns true if a connection was refused to this process, not to this user. A system-call filter answers `EPERM` for
/// any path; a rule about files answers `EACCES`, as do files of another user.
fn is_sandboxed(path: &Path, error: &io::Error) -> bool {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::PERM) => true,
        Some(rustix::io::Errno::ACCESS) => owner::is_mine(path),
        _ => false,
    }
}

fn write_note(note: &Path, socket: &Path) -> io::Result<()> {
    use std::io::Write;
    let fresh = note.with_extension("new");
    let _ = fs::remove_file(&fresh);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(socket.as_os_str().as_encoded_bytes())?;
    fs::rename(&fresh, note)
}

/// Returns the socket's path according to the daemon's note. A checkout may contain a file of this name: the note must
/// be ours, and can only name a socket of this project.
fn read_note(project: &Project) -> Option<PathBuf> {
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(project.socket_note_path())
        .ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.uid() != owner::current_user() {
        return None;
    }
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text).ok()?;
    let path = PathBuf::from(text.trim_end());
    let named_right = path.is_absolute() && path.file_name().is_some_and(|name| *name == *project.socket_name());
    (named_right && owner::is_mine(&path)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> (tempfile::TempDir, Project) {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        (temp, project)
    }

    #[test]
    fn bound_found_stale_and_bound_again() {
        let (_temp, project) = project();
        assert!(connect(&project).unwrap().is_none());
        let lock = Lock::acquire(&project).unwrap();
        let (listener, bound) = bind(&project, &lock).unwrap();
        assert_eq!(fs::metadata(bound.path()).unwrap().mode() & 0o777, 0o600);
        let stream = connect(&project).unwrap().expect("there");
        assert_eq!(peer(&stream).unwrap(), Peer { pid: std::process::id(), uid: owner::current_user() });
        assert!(matches!(bind(&project, &lock), Err(SocketError::InUse { .. })));
        // A killed daemon leaves its file behind.
        drop(listener);
        assert!(connect(&project).unwrap().is_none());
        let (_listener, again) = bind(&project, &lock).unwrap();
        assert!(!bound.is_in_place() || bound.inode == again.inode);
        assert!(again.is_in_place());
        again.remove();
        assert!(!again.is_in_place());
        fs::create_dir(again.path()).unwrap();
        let why = bind(&project, &lock).unwrap_err().to_string();
        assert!(why.ends_with(": it is a directory; remove it"), "{why}");
        fs::remove_dir(again.path()).unwrap();
    }

    #[test]
    fn the_note_leads_to_the_running_daemon_only() {
        let (temp, project) = project();
        let elsewhere = temp.path().join(project.socket_name());
        let _listener = UnixListener::bind(&elsewhere).unwrap();
        project.create_state_dir().unwrap();
        write_note(&project.socket_note_path(), &elsewhere).unwrap();
        assert!(connect(&project).unwrap().is_some());
        let other = temp.path().join("other.sock");
        let _other = UnixListener::bind(&other).unwrap();
        write_note(&project.socket_note_path(), &other).unwrap();
        assert!(connect(&project).unwrap().is_none());
    }
}

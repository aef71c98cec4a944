//! What projects leave outside themselves: sockets of daemons that were killed, state of projects that are gone. Any
//! daemon that starts takes away what is provably nobody's; locks keep it from what is just being made or used. Mail and
//! whatever hob does not know stay.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::paths::{Project, hash_of};
use crate::{owner, state, user_config};

/// How long to wait for another process that looks or binds: it takes a moment.
const TURN_TIME: Duration = Duration::from_secs(1);

/// The file that names the project's root, in the directory of its state. Whoever uses the state holds its lock, and its
/// time of change is that of the last use.
pub(crate) const ROOT: &str = "root";

/// The one secret that is nothing without its project: open questions end with it. A token is in the configuration of a
/// client, and the project may only be on a disk that is not mounted now.
const SEAL_KEY: &str = "seal-key";

/// What is worth nothing once the project is gone, by name: files, and directories with all that is in them.
const WORTHLESS: &[&str] =
    &[SEAL_KEY, "lock", "start.lock", "socket", "root-inode", "init.json", "log", "output", "sessions"];

/// How long a project has to be gone before its logs and outputs go too: it may be on a disk that is not mounted now.
const GONE_FOR: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// The directory of a project's secrets, in use: nobody takes it away.
#[derive(Debug)]
pub struct Secrets {
    path: PathBuf,
    _root: File,
}

impl Secrets {
    /// Makes the directory, if need be, and holds it until this is dropped.
    ///
    /// # Errors
    /// When it cannot be made or written to.
    pub fn hold(project: &Project) -> io::Result<Secrets> {
        let path = project.create_state_dir().map_err(io::Error::other)?;
        state::remember(path, project.root())?;
        Secrets::hold_in(path.to_owned(), project.root())
    }

    pub(crate) fn hold_in(path: PathBuf, root: &Path) -> io::Result<Secrets> {
        let end = Instant::now() + TURN_TIME;
        loop {
            DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
            match open(&path.join(ROOT), true) {
                Ok(file) if !lock(&file, FlockOperation::NonBlockingLockShared) => {}
                // Else it was taken away between the two.
                Ok(mut file) if is_at(&file, &path.join(ROOT)) => {
                    write_root(&mut file, root)?;
                    // For the sweep alone; where it fails, the project is still there to be seen.
                    let _ = file.set_modified(SystemTime::now());
                    return Ok(Secrets { path, _root: file });
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            if Instant::now() > end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// Where the key is that seals the tickets of open questions.
    pub fn seal_key_path(&self) -> PathBuf {
        self.path.join(SEAL_KEY)
    }
}

/// The right to bind in the directory of sockets, or to take something away there. `None` where another has it for long,
/// or the file system has no locks: then what is taken away too much is bound anew.
pub(crate) fn turn(directory: &Path) -> Option<File> {
    let file = File::open(directory).ok()?;
    let end = Instant::now() + TURN_TIME;
    while !lock(&file, FlockOperation::NonBlockingLockExclusive) {
        if Instant::now() > end {
            return None;
        }
        sleep(Duration::from_millis(5));
    }
    Some(file)
}

/// Takes away what is nobody's: sockets at which nobody listens, of any project, and what projects that are gone have left
/// and nobody can miss.
pub fn clean_up(project: &Project) {
    if let Some(directory) = project.socket_path().ok().as_deref().and_then(Path::parent) {
        clean_sockets(directory);
    }
    if let Some(directory) = project.state_dir().parent() {
        entries(directory).filter(|path| is_state(path)).for_each(|path| clean_state(&path));
    }
}

fn clean_sockets(directory: &Path) {
    // Whoever binds has the same turn: what does not listen now will never.
    let Some(_turn) = turn(directory) else { return };
    let dead = entries(directory).filter(|path| {
        path.extension().is_some_and(|end| end == "sock")
            && is_hash(&path.with_extension(""))
            && path.symlink_metadata().is_ok_and(|file| file.file_type().is_socket() && file.uid() == owner::me())
            && is_dead(path)
    });
    // What cannot be removed stays, and is tried again by the next.
    dead.for_each(|path| drop(fs::remove_file(path)));
}

/// Without waiting: a daemon that is stopped may have a full queue.
fn is_dead(path: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let (Ok(socket), Ok(address)) = (socket, SocketAddrUnix::new(path)) else { return false };
    connect(&socket, &address) == Err(Errno::CONNREFUSED)
}

/// Takes away what is worthless in the state of a project that has been gone for long, and the directory if that is all.
fn clean_state(directory: &Path) {
    if directory.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_symlink()) {
        // Left for other environments, to a directory that is gone from its place. Where the place is gone too, it may be
        // on a disk that is not mounted now.
        let is_empty_place = fs::read_link(directory).is_ok_and(|target| target.parent().is_some_and(Path::is_dir));
        if is_empty_place && directory.metadata().is_err_and(|error| user_config::is_absent(&error)) {
            let _ = fs::remove_file(directory);
        }
        return;
    }
    let Some((note, root)) = sole_use(directory) else { return };
    // Where it cannot be seen it may well be.
    let is_aside = directory.extension().is_some();
    let is_gone = is_aside || root.symlink_metadata().is_err_and(|error| user_config::is_absent(&error));
    let last_use = note.metadata().and_then(|metadata| metadata.modified());
    let for_long = last_use.is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed > GONE_FOR));
    let only_a_key = || entries(directory).all(|path| path.ends_with(ROOT) || path.ends_with(SEAL_KEY));
    if !is_gone || !for_long && (is_aside || !only_a_key()) {
        return;
    }
    for name in WORTHLESS {
        let path = directory.join(name);
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => drop(fs::remove_dir_all(&path)),
            Ok(_) => drop(fs::remove_file(&path)),
            Err(_) => {}
        }
    }
    if entries(directory).all(|path| path.ends_with(ROOT)) {
        // The note last, so that whoever is interrupted here is followed by another.
        let _ = fs::remove_file(directory.join(ROOT)).and_then(|()| fs::remove_dir(directory));
    }
}

/// The root that the note of a state directory names, whoever uses it.
pub(crate) fn root_of(directory: &Path) -> Option<PathBuf> {
    let name = directory.with_extension("");
    read_root(&mut open(&directory.join(ROOT), false).ok()?).filter(|root| name.ends_with(hash_of(root)))
}

/// The note of a state directory that nobody uses, locked, and the root that it names; `None` where somebody uses it or
/// hob has not written it.
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

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

pub(crate) fn is_hash(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.len() == 16 && name.iter().all(u8::is_ascii_hexdigit)
}

/// Whether it has the name of a state, or of one that was set aside.
pub(crate) fn is_state(path: &Path) -> bool {
    let is_number = |end: &std::ffi::OsStr| end.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    path.extension().is_none_or(is_number) && is_hash(&path.with_extension(""))
}

fn open(note: &Path, make: bool) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).write(true).create(make).truncate(false).mode(0o600).custom_flags(flags).open(note)
}

/// Whether nobody else has it. A file system without locks keeps nobody out, nor does [`clean_state`] work there.
fn lock(file: &File, operation: FlockOperation) -> bool {
    flock(file, operation) != Err(Errno::WOULDBLOCK)
}

fn is_at(file: &File, path: &Path) -> bool {
    let inode = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().is_ok_and(|file| path.symlink_metadata().is_ok_and(|there| inode(there) == inode(file)))
}

fn write_root(file: &mut File, root: &Path) -> io::Result<()> {
    if read_root(file).as_deref() == Some(root) {
        return Ok(());
    }
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(root.as_os_str().as_encoded_bytes())
}

fn read_root(file: &mut File) -> Option<PathBuf> {
    let mut root = String::new();
    file.take(8192).read_to_string(&mut root).ok()?;
    Some(PathBuf::from(root)).filter(|root| root.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_sockets_of_daemons_that_are_gone() {
        let temp = tempfile::tempdir().unwrap();
        let [lives, dead, other] = ["00000000000000aa.sock", "00000000000000bb.sock", "dead.sock"];
        let listener = UnixListener::bind(temp.path().join(lives)).unwrap();
        for name in [dead, other] {
            drop(UnixListener::bind(temp.path().join(name)).unwrap());
        }
        fs::write(temp.path().join("00000000000000cc.sock"), "").unwrap();
        // A daemon that is stopped, with as many waiting as may wait: who asks must not become one of them.
        rustix::net::listen(&listener, 0).unwrap();
        let _waiting = std::os::unix::net::UnixStream::connect(temp.path().join(lives)).unwrap();
        clean_sockets(temp.path());
        let mut left: Vec<_> = entries(temp.path()).map(|path| path.file_name().unwrap().to_owned()).collect();
        left.sort();
        assert_eq!(left, [lives, "00000000000000cc.sock", other]);
    }

    #[test]
    fn what_a_project_left_goes_when_it_has_been_gone_for_long() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("project");
        let path = temp.path().join(hash_of(&root));
        drop(Secrets::hold_in(path.clone(), &root).unwrap());
        fs::create_dir_all(path.join("output/one")).unwrap();
        for name in ["lock", "seal-key", "output/one/0", "mail.db", "whatever"] {
            fs::write(path.join(name), "").unwrap();
        }
        let elsewhere = temp.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("precious"), "").unwrap();
        std::os::unix::fs::symlink(&elsewhere, path.join("log")).unwrap();
        clean_state(&path);
        assert!(path.join("output/one/0").exists(), "it may be on a disk that is not mounted");
        let long_ago = SystemTime::now() - 2 * GONE_FOR;
        File::options().write(true).open(path.join(ROOT)).unwrap().set_modified(long_ago).unwrap();
        clean_state(&path);
        let mut left: Vec<_> = entries(&path).map(|path| path.file_name().unwrap().to_owned()).collect();
        left.sort();
        assert_eq!(left, ["mail.db", "root", "whatever"]);
        assert!(elsewhere.join("precious").exists());
        fs::remove_file(path.join("mail.db")).unwrap();
        fs::remove_file(path.join("whatever")).unwrap();
        clean_state(&path);
        assert!(!path.exists());
    }

    #[test]
    fn secrets_in_use_or_of_more_than_a_key_stay() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("project");
        let path = temp.path().join(hash_of(&root));
        let held = Secrets::hold_in(path.clone(), &root).unwrap();
        let _two = Secrets::hold_in(path.clone(), &root).unwrap();
        fs::write(held.seal_key_path(), "key").unwrap();
        clean_state(&path);
        assert!(held.seal_key_path().exists(), "in use");
        drop((held, _two));
        for stays in ["http-token", "mail.db"] {
            fs::write(path.join(stays), "").unwrap();
            clean_state(&path);
            assert!(path.join(SEAL_KEY).exists(), "{stays}");
            fs::remove_file(path.join(stays)).unwrap();
        }
        fs::create_dir(&root).unwrap();
        clean_state(&path);
        assert!(path.join(SEAL_KEY).exists(), "its project is there");
        // Another's directory, whose note names a root that is gone: not written by hob.
        fs::write(path.join(ROOT), "/nonexistent").unwrap();
        clean_state(&path);
        assert!(path.join(SEAL_KEY).exists(), "not the root it is named after");
        drop(Secrets::hold_in(path.clone(), &root).unwrap());
        fs::remove_dir(&root).unwrap();
        clean_state(&path);
        assert!(!path.exists());
    }
}

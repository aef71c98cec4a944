//! Removes files that projects left outside their directories: sockets of killed daemons, state of deleted projects. Every daemon does so at its start. Locks
//! protect files that are being created or used; mail and unknown files are kept.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::net::{SocketAddrUnix, connect};

use crate::owner;
use crate::paths::Project;
use crate::regular::is_absent;
use crate::root::is_hash;
use crate::root_note::{ROOT, is_state, lock, sole_use};
use crate::secrets_dir::SEAL_KEY;

/// The time to wait for another process that cleans up or binds.
const TURN_TIME: Duration = Duration::from_secs(1);

/// Files and directories that are worthless once the project is gone.
const WORTHLESS: &[&str] =
    &[SEAL_KEY, "lock", "start.lock", "socket", "root-inode", "init.json", "log", "output", "sessions"];

/// The time for which a project must be gone before its logs and outputs are removed: its disk may merely be unmounted.
const GONE_FOR: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Returns the lock under which sockets are bound and removed in their directory. `None` if another process does not
/// release it in time; a daemon binds a socket again that is then removed by mistake.
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

/// Removes the sockets, of any project, on which no daemon listens, and the worthless files in the state of projects
/// that are gone.
pub fn clean_up(project: &Project) {
    if let Some(directory) = project.socket_path().ok().as_deref().and_then(Path::parent) {
        clean_sockets(directory);
    }
    if let Some(directory) = project.state_dir().parent() {
        entries(directory).filter(|path| is_state(path)).for_each(|path| clean_state(&path));
    }
}

fn clean_sockets(directory: &Path) {
    // Binding takes the same lock: a socket that does not listen now never will.
    let Some(_turn) = turn(directory) else { return };
    let dead = entries(directory).filter(|path| {
        path.extension().is_some_and(|end| end == "sock")
            && is_hash(&path.with_extension(""))
            && path
                .symlink_metadata()
                .is_ok_and(|file| file.file_type().is_socket() && file.uid() == owner::current_user())
            && is_dead(path)
    });
    // The next daemon retries what cannot be removed.
    dead.for_each(|path| drop(fs::remove_file(path)));
}

/// Returns true if no daemon listens. Never waits: a stopped daemon may have a full queue.
fn is_dead(path: &Path) -> bool {
    let socket = system::nonblocking_unix_socket();
    let (Ok(socket), Ok(address)) = (socket, SocketAddrUnix::new(path)) else { return false };
    connect(&socket, &address) == Err(Errno::CONNREFUSED)
}

/// Removes the worthless files from the state of a long-deleted project, and the directory if it is then empty.
fn clean_state(directory: &Path) {
    if directory.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_symlink()) {
        // A link for other environments whose target is gone. If the target's parent is gone too, its disk may be
        // unmounted.
        let is_empty_place = fs::read_link(directory).is_ok_and(|target| target.parent().is_some_and(Path::is_dir));
        if is_empty_place && directory.metadata().is_err_and(|error| is_absent(&error)) {
            let _ = fs::remove_file(directory);
        }
        return;
    }
    let Some((note, root)) = sole_use(directory) else { return };
    // A root that cannot be seen may still exist.
    let is_aside = directory.extension().is_some();
    let is_gone = is_aside || root.symlink_metadata().is_err_and(|error| is_absent(&error));
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
        // The note goes last, so that another daemon can continue an interrupted removal.
        let _ = fs::remove_file(directory.join(ROOT)).and_then(|()| fs::remove_dir(directory));
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::hash_of;
    use crate::secrets_dir::SecretsDir;
    use std::os::unix::net::UnixListener;
    use std::time::SystemTime;

    #[test]
    fn only_sockets_of_daemons_that_are_gone() {
        let temp = tempfile::tempdir().unwrap();
        let [lives, dead, other] = ["00000000000000aa.sock", "00000000000000bb.sock", "dead.sock"];
        let listener = UnixListener::bind(temp.path().join(lives)).unwrap();
        for name in [dead, other] {
            drop(UnixListener::bind(temp.path().join(name)).unwrap());
        }
        fs::write(temp.path().join("00000000000000cc.sock"), "").unwrap();
        // A stopped daemon with a full queue: the check must not wait in it.
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
        drop(SecretsDir::hold_in(path.clone(), &root).unwrap());
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
        let held = SecretsDir::hold_in(path.clone(), &root).unwrap();
        let _two = SecretsDir::hold_in(path.clone(), &root).unwrap();
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
        // This is not hob's: the note names a root that is gone, but another program wrote it.
        fs::write(path.join(ROOT), "/nonexistent").unwrap();
        clean_state(&path);
        assert!(path.join(SEAL_KEY).exists(), "not the root it is named after");
        drop(SecretsDir::hold_in(path.clone(), &root).unwrap());
        fs::remove_dir(&root).unwrap();
        clean_state(&path);
        assert!(!path.exists());
    }
}

//! Foreign files at the paths of the mail's files: each error names the next step, the file is not touched, and nothing
//! hangs.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, mpsc};

use mail::spool::Spool;
use mail::store::Store;
use mail::store::query::{Agents, Query};
use mail::store::sqlite::{examine, examine_spool};
use mail::{Clock, Limits, Space, StoreError};
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::fixture::{LONG, open_sqlite};

type Opener = fn(&Path) -> Result<(), StoreError>;
/// Puts something where a file should be.
type PutFile = fn(&Path);

const IN_ITS_PLACE: [(&str, PutFile); 5] = [
    ("is empty (0 bytes)", |path| std::fs::write(path, "").unwrap()),
    ("is a directory, not a file", |path| std::fs::create_dir(path).unwrap()),
    ("is a FIFO, not a file", |path| mkfifoat(CWD, path, Mode::from_raw_mode(0o600)).unwrap()),
    ("is a link, not a file", |path| symlink("/etc/passwd", path).unwrap()),
    ("is a socket, not a file", |path| drop(UnixListener::bind(path).unwrap())),
];

/// Fails if `done` hangs.
fn in_time<T: Send + 'static>(what: &str, done: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(done()));
    told.recv_timeout(LONG).unwrap_or_else(|_| panic!("{what}: it hangs"))
}

fn open(path: &Path) -> Result<(), StoreError> {
    let store = open_sqlite(path, Clock::system(), &Limits::default())?;
    // The writer may still change its files until it has ended.
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(store.close());
    Ok(())
}

fn spool(path: &Path) -> Result<(), StoreError> {
    Spool::open(path, &Space::named("test"), 10).map(drop)
}

/// Opens the file in each way that hob does; returns the errors.
fn said_of(path: &Path) -> Vec<(String, String)> {
    let openers: [Opener; 4] = [open, spool, examine, examine_spool];
    let said = openers.into_iter().map(|opener| {
        let at = path.to_owned();
        let error = in_time("opening it", move || opener(&at)).expect_err("it is no store");
        assert!(matches!(error, StoreError::Strange { .. }), "{error}");
        (error.to_string(), error.hints().join(" "))
    });
    said.collect()
}

#[test]
fn whatever_lies_in_the_place_of_a_store_is_named_and_left_alone() {
    for (what, put) in IN_ITS_PLACE {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mail.db");
        put(&path);
        let before = std::fs::symlink_metadata(&path).unwrap();
        for (said, next) in said_of(&path) {
            assert_eq!(said, format!("{} {what}", path.display()));
            assert!(next.contains("create") && next.contains("mail.db"), "{next}");
        }
        let after = std::fs::symlink_metadata(&path).unwrap();
        assert_eq!((before.ino(), before.mode(), before.len()), (after.ino(), after.mode(), after.len()), "{what}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "{what}: nothing was put beside it");
    }
}

#[test]
fn whatever_lies_beside_a_store_is_named_too() {
    for suffix in ["-wal", "-shm", "-journal"] {
        for (what, put) in &IN_ITS_PLACE[1..] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("mail.db");
            open(&path).unwrap();
            let beside = dir.path().join(format!("mail.db{suffix}"));
            let _ = std::fs::remove_file(&beside);
            put(&beside);
            for (said, next) in said_of(&path) {
                assert_eq!(said, format!("{} {what}", beside.display()));
                assert!(next.contains("Move it aside"), "{next}");
            }
            std::fs::remove_file(&beside).or_else(|_| std::fs::remove_dir(&beside)).unwrap();
            open(&path).unwrap();
        }
    }
}

#[test]
fn a_log_without_its_file_is_no_empty_mailbox() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    open(&path).unwrap();
    std::fs::copy(&path, dir.path().join("kept")).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(dir.path().join("mail.db-wal"), "what was written last").unwrap();
    for (said, next) in said_of(&path) {
        assert!(said.ends_with("mail.db-wal is the log of a missing file"), "{said}");
        assert!(next.contains("Put mail.db back"), "{next}");
    }
    assert_eq!(std::fs::read(dir.path().join("mail.db-wal")).unwrap(), b"what was written last");
}

#[test]
fn a_database_of_another_program_without_a_version_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE precious (x)").unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(open(&path), Err(StoreError::Corrupt { .. })));
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn a_store_is_made_whole_and_private() {
    let dir = tempfile::tempdir().unwrap();
    let [store, queue] = ["mail.db", "mail-spool.db"].map(|name| dir.path().join(name));
    // A daemon that was killed while it made the file left this.
    std::fs::write(dir.path().join(format!("mail.db.new-{}", std::process::id())), "half").unwrap();
    open(&store).unwrap();
    spool(&queue).unwrap();
    for path in [&store, &queue] {
        assert!(std::fs::metadata(path).unwrap().len() > 0);
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains(".new-")), "{left:?}");
}

/// A session of many readers that ends while they read leaves one complete file.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_that_was_closed_is_one_file_whoever_read_it_meanwhile() {
    for _ in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mail.db");
        let store = Arc::new(open_sqlite(&path, Clock::system(), &Limits::default()).unwrap());
        let readers: Vec<_> = (0..16)
            .map(|_| {
                let store = Arc::clone(&store);
                tokio::spawn(async move { while store.read(Query::Agents(Agents)).await.is_ok() {} })
            })
            .collect();
        while store.read(Query::Agents(Agents)).await.is_err() {}
        // Readers whose callers have disappeared read to their end.
        readers.iter().step_by(2).for_each(tokio::task::JoinHandle::abort);
        store.close().await;
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(left, ["mail.db"]);
        for reader in readers {
            let _ = reader.await;
        }
    }
}

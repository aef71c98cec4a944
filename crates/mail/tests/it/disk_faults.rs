//! Faults of the disk and of the file: each gives a clear error, and nothing is lost.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use mail::{Clock, Floor, Limits, MailError, SearchRequest, StoreError};

use crate::fixture::{EPOCH, ManualClock, StoreFixture, open_sqlite, texts};

const ON_A_SMALL_DISK: &str = "MAIL_TEST_SMALL_DISK";

async fn open(path: &Path) -> StoreFixture {
    let limits = Limits::default();
    let (clock, hand) = Clock::manual(EPOCH);
    let store = std::sync::Arc::new(open_sqlite(path, clock, &limits).unwrap());
    StoreFixture::with(store, limits, ManualClock(hand), Box::new(())).await
}

fn refused(path: &Path) -> StoreError {
    open_sqlite(path, Clock::system(), &Limits::default()).err().expect("it opens")
}

#[tokio::test]
async fn a_newer_version_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let fixture = open(&path).await;
    fixture.agent("ann", "dev").await;
    fixture.mail.close().await;
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(db);
    let error = refused(&path);
    assert_eq!(error.to_string(), "the mail store has schema version 99; this version of hob knows up to 2");
    assert!(error.hints()[0].contains("Update hob"), "{:?}", error.hints());
}

#[tokio::test]
async fn a_damaged_file_is_named_so_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let rubbish = b"this is not a database, and long enough to be looked at twice".repeat(100);
    std::fs::write(&path, &rubbish).unwrap();
    assert!(matches!(refused(&path), StoreError::Corrupt { .. }));
    assert!(std::fs::read(&path).unwrap() == rubbish, "it is left as it was");
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE precious (x); PRAGMA user_version = 1").unwrap();
    drop(db);
    assert!(matches!(refused(&path), StoreError::Corrupt { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_database_is_a_clear_error_and_works_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let fixture = open(&path).await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = fixture.send(&ann, "bob", "while locked").await.unwrap_err();
    assert!(matches!(error, MailError::Store(StoreError::Locked)) && error.is_retryable(), "{error}");
    other.execute_batch("ROLLBACK").unwrap();
    fixture.send(&ann, "bob", "afterwards").await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["afterwards"]);
}

#[tokio::test]
async fn what_is_written_into_a_removed_file_is_not_called_stored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let fixture = open(&path).await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "before").await.unwrap();
    // As `git clean` would.
    for name in ["mail.db", "mail.db-wal", "mail.db-shm"] {
        std::fs::remove_file(dir.path().join(name)).unwrap();
    }
    let is_gone = |error: MailError| matches!(error, MailError::Store(StoreError::Gone));
    assert!(is_gone(fixture.send(&ann, "bob", "into nothing").await.unwrap_err()));
    assert!(is_gone(fixture.mail.inbox(&bob.agent).await.unwrap_err()));
    // Another file at its path is another store.
    std::fs::write(&path, b"").unwrap();
    let error = fixture.send(&ann, "bob", "into nothing").await.unwrap_err();
    assert!(is_gone(error.clone()) && !error.is_retryable(), "{error}");
    assert!(error.hints()[0].contains("hob stop"), "{:?}", error.hints());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "it is left alone");
}

#[tokio::test]
async fn a_full_disk_and_a_read_only_one_are_clear_errors_and_lose_nothing() {
    // As root of a new namespace, this test binary may mount a small disk.
    let dir = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=1m none \"$0\" && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(dir.path());
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "disk_faults::on_a_small_disk", "--nocapture"]).env(ON_A_SMALL_DISK, dir.path());
    let output = command.stdin(Stdio::null()).output();
    let said = output.map(|output| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned());
    let said = said.unwrap_or_default();
    if said.contains("unshare: ") || said.contains("mount: ") || said.is_empty() {
        eprintln!("skipped: a full disk: this machine gives no namespaces: {said}");
        return;
    }
    assert!(said.contains("both told"), "{said}");
}

/// Fills the disk to the last byte: a large write may fail where a small one still fits.
fn fill(dir: &Path) {
    let mut ballast = std::fs::File::create(dir.join("ballast")).unwrap();
    for piece in [1 << 16, 1 << 12, 1] {
        while ballast.write(&vec![0; piece]).is_ok() {}
    }
}

/// Not a separate test: runs on the small disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_small_disk() {
    let Some(dir) = std::env::var_os(ON_A_SMALL_DISK) else { return };
    let dir = Path::new(&dir);
    let fixture = open(&dir.join("mail.db")).await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mut stored = 0;
    let error = loop {
        match fixture.send(&ann, "bob", &format!("{stored} {}", "x".repeat(20_000))).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 1_000);
    };
    assert!(matches!(error, MailError::Store(StoreError::DiskFull)), "{error}");
    assert!(error.hints()[0].contains("Free space on the disk"), "{:?}", error.hints());
    // Full to the last byte. A caller that already holds its name can still enter, and finds messages that the search
    // index has no room for.
    fill(dir);
    while fixture.send(&ann, "bob", "tiny").await.is_ok() {
        stored += 1;
        assert!(stored < 2_000);
    }
    for _ in 0..10 {
        let bob = fixture.agent("bob", "dev").await;
        let search = SearchRequest { query: "0".to_owned(), limit: 10, ..SearchRequest::default() };
        let found = fixture.mail.search(&bob, search).await.unwrap();
        assert!(found.len() == 1 && found[0].message.content.starts_with("0 x"), "{found:?}");
    }
    std::fs::remove_file(dir.join("ballast")).unwrap();
    fixture.mail.close().await;
    // With room again, everything that was acknowledged is there, and sending works.
    assert!(Command::new("mount").args(["-o", "remount,size=8m"]).arg(dir).status().unwrap().success());
    let fixture = open(&dir.join("mail.db")).await;
    fixture.send(&ann, "bob", "room again").await.unwrap();
    let counts = fixture.mail.inbox(&bob.agent).await.unwrap();
    assert_eq!(counts.total(), stored + 1);
    // After a kill the store's log remains, and the disk is full by now. The store can be read, but not opened for
    // writing.
    std::fs::create_dir(dir.join("killed")).unwrap();
    for name in ["mail.db", "mail.db-wal"] {
        std::fs::copy(dir.join(name), dir.join("killed").join(name)).unwrap();
    }
    fixture.mail.close().await;
    fill(dir);
    let fixture = open(&dir.join("killed/mail.db")).await;
    for _ in 0..2 {
        let bob = fixture.agent("bob", "dev").await;
        assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().total(), stored + 1);
        assert_eq!(
            fixture.mail.read_mailbox(&bob, stored, Floor::All, 10).await.unwrap().messages[0].content,
            "room again"
        );
        let error = fixture.send(&ann, "bob", "no room").await.unwrap_err();
        assert!(matches!(error, MailError::Store(StoreError::DiskFull)), "{error}");
    }
    // With room again the store can be written without being reopened, and waiters are woken.
    std::fs::remove_file(dir.join("ballast")).unwrap();
    let bob = fixture.agent("bob", "dev").await;
    let waiter = fixture.block(&ann, Floor::All).await;
    fixture.send(&bob, "ann", "room at last").await.unwrap();
    assert_eq!(texts(&waiter.await.unwrap().messages), ["room at last"]);
    assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().total(), stored + 1);
    fixture.mail.close().await;
    std::fs::remove_dir_all(dir.join("killed")).unwrap();
    assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(dir).status().unwrap().success());
    let error = refused(&dir.join("mail.db"));
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(error.hints()[0].contains("Make the project's state directory writable"), "{:?}", error.hints());
    assert!(Command::new("mount").args(["-o", "remount,rw"]).arg(dir).status().unwrap().success());
    let fixture = open(&dir.join("mail.db")).await;
    assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().total(), stored + 1);
    fixture.store.close().await;
    eprintln!("both told");
}

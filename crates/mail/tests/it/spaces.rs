//! A file's mail belongs to its project under any name of the project.

use std::path::Path;
use std::sync::Arc;

use mail::store::sqlite::{SqliteOptions, SqliteStore};
use mail::{Clock, Floor, Limits, Space, StoreError};

use crate::fixture::{EPOCH, ManualClock, StoreFixture, next_session};

async fn open(path: &Path, name: &str) -> StoreFixture {
    let (clock, hand) = Clock::manual(EPOCH);
    let options = SqliteOptions { clock, ..SqliteOptions::new(path.to_owned(), Space::named(name)) };
    let store = Arc::new(SqliteStore::open(options).unwrap());
    StoreFixture::with(store, Limits::default(), ManualClock(hand), Box::new(())).await
}

fn names(path: &Path) -> Vec<String> {
    let db = rusqlite::Connection::open(path).unwrap();
    let names: Vec<String> = db
        .prepare("SELECT name FROM space")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    let strays = db.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap();
    assert_eq!((whole.as_str(), strays), ("ok", false));
    names
}

#[tokio::test]
async fn a_project_that_is_called_something_else_has_its_mail() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let former = open(&path, "former").await;
    let (ann, bob) = (former.agent("ann", "dev").await, former.agent("bob", "dev").await);
    former.send(&ann, "bob", "first").await.unwrap();
    former.mail.close().await;
    for name in ["second", "third", "former"] {
        let fixture = open(&path, name).await;
        assert_eq!(
            fixture.mail.read_mailbox(&bob, 0, Floor::All, 10).await.unwrap().messages[0].content,
            "first",
            "{name}"
        );
        let sent = fixture.send(&ann, "bob", name).await.unwrap();
        assert!(fixture.mail.thread(&bob, sent.id.as_str()).await.is_ok());
        fixture.mail.close().await;
        assert_eq!(names(&path), [Space::named(name).to_string()]);
    }
    let fixture = open(&path, "former").await;
    assert_eq!(fixture.check(&next_session(&bob)).await, ["first", "second", "third", "former"]);
}

#[tokio::test]
async fn a_file_with_one_space_is_read_under_any_name_where_nothing_can_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let fixture = open(&path, "former").await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "kept").await.unwrap();
    fixture.mail.close().await;
    // Another process writes for longer than the timeout: the name cannot be recorded, and the error says so.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let options = SqliteOptions::new(path.clone(), Space::named("now"));
    let refused = tokio::task::spawn_blocking(move || SqliteStore::open(options).err().unwrap()).await.unwrap();
    assert!(matches!(refused, StoreError::Locked), "{refused}");
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    assert_eq!(open(&path, "now").await.check(&next_session(&bob)).await, ["kept"]);
}

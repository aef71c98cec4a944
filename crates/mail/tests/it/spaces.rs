//! A file's mail belongs to its project under any name of the project. Files in which earlier versions began a space
//! for each name are joined: no delivered message is lost or doubled.

use std::path::Path;
use std::sync::Arc;

use mail::store::sqlite::{SqliteOptions, SqliteStore};
use mail::{Clock, Floor, Limits, Priority, SearchRequest, SendRequest, Space, StoreError};

use crate::fixture::{EPOCH, ManualClock, StoreFixture, again, texts};

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
        assert_eq!(fixture.mail.look(&bob, 0, Floor::All, 10).await.unwrap().messages[0].content, "first", "{name}");
        let sent = fixture.send(&ann, "bob", name).await.unwrap();
        assert!(fixture.mail.thread(&bob, sent.id.as_str()).await.is_ok());
        fixture.mail.close().await;
        assert_eq!(names(&path), [Space::named(name).to_string()]);
    }
    let fixture = open(&path, "former").await;
    assert_eq!(fixture.check(&again(&bob)).await, ["first", "second", "third", "former"]);
}

/// Splits a file as an older version would have left it: mail under another name is in a separate space.
fn split(path: &Path, agents: &[&str]) {
    let db = rusqlite::Connection::open(path).unwrap();
    db.execute("INSERT INTO space (name) VALUES ('p_0123456789AB')", []).unwrap();
    let other = db.last_insert_rowid();
    for agent in agents {
        db.execute("UPDATE agent SET space = ?1 WHERE name = ?2", rusqlite::params![other, agent]).unwrap();
    }
    db.execute("UPDATE groups SET space = ?1", [other]).unwrap();
    db.execute("UPDATE message SET space = ?1", [other]).unwrap();
    db.execute("UPDATE tomb SET space = ?1", [other]).unwrap();
}

#[tokio::test]
async fn spaces_that_came_apart_are_joined_with_all_that_is_in_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let keyed = |text: &str| SendRequest {
        to: vec!["bob".into()],
        content: text.into(),
        idempotency_key: Some("k".into()),
        ..SendRequest::default()
    };
    // Several runs, each under another name: each has an ann and a bob, and the same key.
    let mut sent = Vec::new();
    for life in 0..3_u64 {
        let fixture = open(&path, "one").await;
        fixture.clock.0.fetch_add(life * 1000, std::sync::atomic::Ordering::SeqCst);
        let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", &format!("role{life}")).await);
        fixture.agent(&format!("only{life}"), "dev").await;
        if life > 0 {
            fixture.mail.create_group(&ann, "team", "").await.unwrap();
            fixture
                .mail
                .add_member(&ann, "team", mail::member("agent", &format!("only{life}")).unwrap())
                .await
                .unwrap();
        }
        let first = fixture.mail.send(&ann, keyed(&format!("{life}a"))).await.unwrap();
        assert!(!first.is_replay);
        fixture.send_with(&ann, "bob", &format!("{life}b"), Priority::High).await.unwrap();
        fixture.send(&ann, &format!("only{life}"), "to the only one").await.unwrap();
        if life == 0 {
            // In hand, read, and handled: each state is kept.
            assert_eq!(fixture.mail.check(&bob, mail::CheckRequest::default()).await.unwrap().messages.len(), 2);
        }
        sent.push(first.id);
        fixture.mail.close().await;
        if life < 2 {
            let only = format!("only{life}");
            split(&path, &["ann", "bob", &only]);
            let db = rusqlite::Connection::open(&path).unwrap();
            let number = format!("UPDATE space SET name = 'r_00000000000{life}' WHERE name LIKE 'p_%'");
            db.execute(&number, []).unwrap();
            drop(db);
            // The next run starts without them.
            hide(&path, life);
        }
    }
    unhide(&path);
    let fixture = open(&path, "one").await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    assert_eq!(names(&path).len(), 1);
    let all = fixture.mail.look(&bob, 0, Floor::All, 50).await.unwrap();
    let mut contents: Vec<&str> = all.messages.iter().map(|message| message.content.as_str()).collect();
    contents.sort_unstable();
    assert_eq!(contents, ["0a", "0b", "1a", "1b", "2a", "2b"]);
    let counts = fixture.mail.inbox(&bob.agent).await.unwrap();
    assert_eq!((counts.total(), counts.leased, counts.latest_seq), (4, 2, 6));
    // The sessions that had messages in hand have ended; those messages are handed out again.
    for id in &sent {
        assert_eq!(fixture.mail.thread(&ann, id.as_str()).await.unwrap().len(), 1);
        assert!(fixture.mail.delivery_status(&ann, id.as_str()).await.is_ok());
    }
    let found = fixture.mail.search(&bob, SearchRequest { query: "1a".into(), limit: 10, ..SearchRequest::default() });
    assert_eq!(found.await.unwrap().len(), 1);
    // A key means the last message sent with it.
    let again = fixture.mail.send(&ann, keyed("2a")).await.unwrap();
    assert!(again.is_replay && again.id == sent[2]);
    let team = fixture.mail.group("team").await.unwrap();
    assert_eq!(team.agents.iter().map(|agent| agent.as_str()).collect::<Vec<_>>(), ["only1", "only2"]);
    for life in 0..3 {
        let only = fixture.agent(&format!("only{life}"), "dev").await;
        assert_eq!(fixture.check(&only).await, ["to the only one"]);
    }
    // Messages of one mailbox are in order, urgent ones first.
    let got = fixture.mail.check(&bob, mail::CheckRequest::default()).await.unwrap();
    assert_eq!(texts(&got.messages), ["2b", "1b", "2a", "1a"]);
    fixture.send(&ann, "bob", "after").await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["after"]);
}

/// Moves the space of a run out of the file, so that the next run starts empty.
fn hide(path: &Path, life: u64) {
    std::fs::rename(path, path.with_file_name(format!("life-{life}"))).unwrap();
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(path.with_file_name(format!("mail.db{suffix}")));
    }
}

/// Puts all earlier spaces back into one file, as if they had always been there.
fn unhide(path: &Path) {
    let db = rusqlite::Connection::open(path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    for life in 0..2 {
        let aside = path.with_file_name(format!("life-{life}"));
        db.execute("ATTACH ?1 AS aside", [aside.to_str().unwrap()]).unwrap();
        let shift = 1000 * (life + 1);
        db.execute_batch(&format!(
            "INSERT INTO space SELECT id + {shift}, name || '{life}' FROM aside.space WHERE name LIKE 'r_%';
             INSERT INTO agent SELECT id + {shift}, space + {shift}, name, role, module, intent, branch, alias,
                registered_at, seen_at, host, worktree, fence FROM aside.agent;
             INSERT INTO mailbox SELECT agent + {shift}, seq, tip, bytes, free0, free1, free2, free3, leased
                FROM aside.mailbox;
             INSERT INTO groups SELECT id + {shift}, space + {shift}, name, description, created_at, created_by
                FROM aside.groups;
             INSERT INTO member SELECT grouping + {shift}, kind, name FROM aside.member;
             INSERT INTO message SELECT id + {shift}, public, space + {shift}, kind, sender, addresses, content,
                priority, at, thread, reply_to, metadata, key, hash FROM aside.message;
             INSERT INTO delivery SELECT agent + {shift}, seq, message + {shift}, priority, at, bytes, state, session,
                token, attempts, hinted_at, fetched_at, fetched_by, read_at, settled_at, note FROM aside.delivery;"
        ))
        .unwrap();
        db.execute_batch("DETACH aside").unwrap();
    }
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
    assert_eq!(open(&path, "now").await.check(&again(&bob)).await, ["kept"]);
}

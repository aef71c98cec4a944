//! Stores written by older versions open complete, and then behave like new ones.

use std::sync::Arc;

use mail::{Clock, Limits, SearchRequest, Session};

use crate::fixture::{EPOCH, LONG, ManualClock, StoreFixture, open_sqlite, texts};

async fn open(path: &std::path::Path) -> StoreFixture {
    let limits = Limits::default();
    let (clock, hand) = Clock::manual(EPOCH);
    let store = Arc::new(open_sqlite(path, clock, &limits).unwrap());
    StoreFixture::with(store, limits, ManualClock(hand), Box::new(())).await
}

async fn search_texts(fixture: &StoreFixture, session: &Session, query: &str) -> Vec<String> {
    let search = SearchRequest { query: query.to_owned(), limit: 10, ..SearchRequest::default() };
    fixture.mail.search(session, search).await.unwrap().into_iter().map(|hit| hit.message.content).collect()
}

#[tokio::test]
async fn version_1_is_brought_forward_with_all_that_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(include_str!("older/version_1.sql")).unwrap();
    drop(db);
    // The second run opens the file that the first one migrated.
    for life in 0..2 {
        let fixture = open(&path).await;
        let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
        if life == 0 {
            // The messages in hand of an ended session are free after its grace period.
            assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().leased, 1);
            fixture.mail.end_session(&mail::SessionId::new("gone").unwrap()).await;
            let got = fixture.wait(&bob, LONG, mail::Floor::All).await.messages;
            assert_eq!(texts(&got), ["in hand (again)"]);
            assert_eq!(fixture.check(&bob).await, Vec::<String>::new());
            assert_eq!(fixture.check(&ann).await, ["the answer"]);
        }
        for id in ["msg_00000000000000000000000001", "msg_00000000000000000000000002"] {
            let thread = fixture.mail.thread(&ann, id).await.unwrap();
            let thread: Vec<_> = thread.iter().map(|message| message.content.as_str()).collect();
            assert_eq!(thread, ["the question", "the answer"]);
        }
        assert_eq!(search_texts(&fixture, &ann, "the").await, ["the answer", "the question"]);
        let new = format!("new{life}");
        fixture.send(&ann, "bob", &new).await.unwrap();
        assert_eq!(
            search_texts(&fixture, &bob, &new).await,
            std::slice::from_ref(&new),
            "its number was another's before"
        );
        assert_eq!(fixture.check(&bob).await, [new]);
        fixture.check(&bob).await;
        fixture.mail.close().await;
    }
    let db = rusqlite::Connection::open(&path).unwrap();
    let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    let strays = db.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap();
    assert!(!strays);
    // The store now equals a new one.
    let fresh = dir.path().join("fresh.db");
    open(&fresh).await.mail.close().await;
    let shape = |db: &rusqlite::Connection| -> Vec<String> {
        let sql = "SELECT coalesce(replace(sql, '\"', ''), name) FROM sqlite_schema \
                   WHERE name NOT LIKE 'sqlite_%' ORDER BY name";
        let mut shape = db.prepare(sql).unwrap();
        shape.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(shape(&db), shape(&rusqlite::Connection::open(&fresh).unwrap()));
}

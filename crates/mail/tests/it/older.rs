//! Stores that older versions wrote: they open, everything is there, and what comes after is as in a new one.

use std::sync::Arc;

use mail::{Clock, Limits, SearchRequest, Session};

use crate::place::{EPOCH, Hand, LONG, Place, open_sqlite, texts};

async fn open(path: &std::path::Path) -> Place {
    let limits = Limits::default();
    let (clock, hand) = Clock::manual(EPOCH);
    let store = Arc::new(open_sqlite(path, clock, &limits).unwrap());
    Place::with(store, limits, Hand(hand), Box::new(())).await
}

async fn found(place: &Place, session: &Session, query: &str) -> Vec<String> {
    let search = SearchRequest { query: query.to_owned(), limit: 10, ..SearchRequest::default() };
    place.mail.search(session, search).await.unwrap().into_iter().map(|hit| hit.message.content).collect()
}

#[tokio::test]
async fn version_1_is_brought_forward_with_all_that_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(include_str!("older/version_1.sql")).unwrap();
    drop(db);
    // A second life finds what the first one made of it.
    for life in 0..2 {
        let place = open(&path).await;
        let (ann, bob) = (place.agent("ann", "dev").await, place.agent("bob", "dev").await);
        if life == 0 {
            // What a session that is gone had in hand is free after its grace.
            assert_eq!(place.mail.inbox(&bob.agent).await.unwrap().leased, 1);
            place.mail.end_session(&mail::SessionId::new("gone").unwrap()).await;
            let got = place.wait(&bob, LONG, mail::Floor::All).await.messages;
            assert_eq!(texts(&got), ["in hand (again)"]);
            assert_eq!(place.check(&bob).await, Vec::<String>::new());
            assert_eq!(place.check(&ann).await, ["the answer"]);
        }
        for id in ["msg_00000000000000000000000001", "msg_00000000000000000000000002"] {
            let thread = place.mail.thread(&ann, id).await.unwrap();
            let thread: Vec<_> = thread.iter().map(|message| message.content.as_str()).collect();
            assert_eq!(thread, ["the question", "the answer"]);
        }
        assert_eq!(found(&place, &ann, "the").await, ["the answer", "the question"]);
        let new = format!("new{life}");
        place.send(&ann, "bob", &new).await.unwrap();
        assert_eq!(found(&place, &bob, &new).await, std::slice::from_ref(&new), "its number was another's before");
        assert_eq!(place.check(&bob).await, [new]);
        place.check(&bob).await;
        place.mail.close().await;
    }
    let db = rusqlite::Connection::open(&path).unwrap();
    let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    let strays = db.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap();
    assert!(!strays);
    // It has become what a new store is.
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

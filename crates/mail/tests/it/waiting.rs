//! Many calls of one agent wait for messages on one connection.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mail::model::Clock;
use mail::store::memory::MemoryStore;
use mail::{CheckRequest, Floor};
use mcp::server::{ConnectionOptions, Server, ServerInfo};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::fixture::{LONG, StoreFixture, limits, next_session, texts};
use crate::name_takeover::callers;

fn call(id: u64, name: &str, arguments: &Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

#[tokio::test]
async fn sixty_four_calls_that_wait_for_messages_hold_up_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(MemoryStore::new(Clock::system(), limits()));
    let callers = callers(store, "here", dir.path().to_owned()).await;
    let server = Server::with_tools(ServerInfo::new("mail", "1"), mail::tools::tools(&callers));
    let caller = Arc::new(testkit::caller(Path::new("/w/ann"), "ann"));
    let options = ConnectionOptions { caller, ..ConnectionOptions::default() };
    let (client, _) = mcp::transport::memory::connect(&server, options);
    let mut client = BufReader::new(client);
    let mut line = String::new();
    client.write_all(call(0, "register_agent", &json!({"name": "ann", "role": "dev"})).as_bytes()).await.unwrap();
    client.read_line(&mut line).await.unwrap();
    assert!(!line.contains("isError"), "{line}");
    let mut calls: String = (1..=64).map(|id| call(id, "wait_for_message", &json!({"timeout": 600}))).collect();
    calls.push_str(&call(65, "list_agents", &json!({})));
    client.write_all(calls.as_bytes()).await.unwrap();
    line.clear();
    client.read_line(&mut line).await.unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["id"], 65, "{answer}");
    assert!(answer.to_string().contains("ann"), "{answer}");
}

/// A client drops a wait without notice. Its next wait, in a later turn, ends the dropped one; parallel waits stay.
#[tokio::test(start_paused = true)]
async fn a_later_wait_of_a_run_ends_the_one_that_its_client_dropped() {
    let fixture = StoreFixture::memory(limits()).await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let dropped = [fixture.block(&bob, Floor::All).await, fixture.block(&bob, Floor::All).await];
    let another_run = fixture.block(&next_session(&bob), Floor::Critical).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(dropped.iter().all(|waiter| !waiter.is_finished()), "parallel waits of one turn stand");
    let newer = fixture.second_store();
    let newer = tokio::spawn({
        let bob = bob.clone();
        async move { newer.wait(&bob, LONG, Floor::All).await }
    });
    for waiter in dropped {
        let waited = waiter.await.unwrap();
        assert!(waited.is_superseded && waited.messages.is_empty());
    }
    fixture.send(&ann, "bob", "for who listens").await.unwrap();
    let waited = newer.await.unwrap();
    assert_eq!((texts(&waited.messages), waited.is_superseded), (vec!["for who listens".to_owned()], false));
    assert!(!another_run.is_finished());
}

/// A message on its way to a wait that a newer one ends goes to the newer one.
#[tokio::test(start_paused = true)]
async fn a_message_on_its_way_to_a_dropped_wait_is_not_lost() {
    for _ in 0..200 {
        let fixture = StoreFixture::memory(limits()).await;
        let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
        let dropped = fixture.block(&bob, Floor::All).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let newer = async { fixture.wait(&bob, Duration::from_secs(60), Floor::All).await };
        let (sent, newer) = tokio::join!(fixture.send(&ann, "bob", "one"), newer);
        sent.unwrap();
        let before = dropped.await.unwrap();
        if before.messages.is_empty() {
            assert_eq!(newer.messages.len(), 1);
        } else {
            let listed = fixture.mail.check(&bob, CheckRequest::default()).await.unwrap();
            assert_eq!((before.is_superseded, listed.reminders.len()), (false, 1));
        }
    }
}

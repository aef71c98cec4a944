//! Clients that try to make a server keep ever more for them.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::client::Client;
use super::{ConnectionOptions, everything};
use crate::server::Limits;
use crate::server::connection_state::ConnectionState;
use crate::wire::Frame;

fn call(id: u64, name: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {}}}).to_string()
}

#[tokio::test(start_paused = true)]
async fn calls_taken_back_before_they_start_leave_nothing() {
    let limits = Limits { running: 1, ..Limits::default() };
    let options = ConnectionOptions { limits, ..ConnectionOptions::default() };
    let mut session = ConnectionState::new(everything().shared, options);
    let mut take = |line: String| {
        session.take_frame(Frame::Line(line.as_bytes()));
        session.calls.queued()
    };
    take(call(0, "hold"));
    for id in 1..10_000 {
        take(call(id, "hold"));
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        let queued = take(cancelled.to_string());
        assert!(queued < 32, "{queued} of {id} are still there");
    }
    // The waiting calls still start, in their order.
    take(call(10_000, "echo"));
    assert_eq!(session.calls.waiting(), 1);
    session.cancel(&crate::wire::Id::number(0));
    assert_eq!(session.calls.waiting(), 1, "it has its grace");
    session.tick(tokio::time::Instant::now() + Duration::from_secs(60));
    session.start_waiting();
    assert_eq!(session.calls.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn answers_of_batches_that_are_not_done_count_as_output() {
    let limits = Limits { output: 1 << 20, ..Limits::default() };
    let (mut client, _) = crate::transport::memory::connect(
        &everything(),
        ConnectionOptions { limits, assume: crate::Era::V2025_03_26, ..ConnectionOptions::default() },
    );
    // Each batch holds its lists of tools until its one call ends.
    let list = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}).to_string();
    let flood = async {
        for batch in 0..u64::MAX {
            let first = batch * 1_000;
            let items: Vec<String> = (1..100).map(|at| list(first + at)).chain([call(first, "hold")]).collect();
            client.write_all(format!("[{}]\n", items.join(",")).as_bytes()).await.expect("it reads");
            assert!(batch < 50, "it takes everything");
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(1), flood).await.is_err(), "it took everything");
}

#[tokio::test(start_paused = true)]
async fn answers_that_come_before_their_questions_count_as_waiting() {
    let limits = Limits { running: 1, waiting_bytes: 100_000, ..Limits::default() };
    let mut client = Client::connect(&everything(), ConnectionOptions { limits, ..ConnectionOptions::default() });
    client.write(&format!("{}\n", call(0, "hold"))).await;
    let mut refused = 0;
    for id in 1..=20 {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        });
        let padding = json!({"answer": {"action": "accept", "content": {"color": "x".repeat(10_000)}}});
        let arguments = json!({"about": "form"});
        let params = json!({"name": "inquire", "arguments": arguments, "inputResponses": padding, "_meta": meta});
        client.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
    }
    client.send(json!({"jsonrpc": "2.0", "id": 99, "method": "ping"})).await;
    loop {
        let answer = client.next().await;
        if answer["id"] == 99 {
            break;
        }
        assert_eq!(answer["error"]["data"], json!({"reason": "overloaded", "limit": 100_000}));
        refused += 1;
    }
    assert_eq!(refused, 11, "nine of them fit");
}

#[tokio::test(start_paused = true)]
async fn addresses_to_listen_to_are_short() {
    let mut client = Client::connect(&everything(), ConnectionOptions::default());
    let listen = |id: u64, uri: String| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"notifications": {"resourceSubscriptions": [uri]}, "_meta": meta});
        json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params})
    };
    client.send(listen(1, format!("note://{}", "x".repeat(3_000)))).await;
    let refused = client.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32602)), "{refused}");
    client.send(listen(2, "note://hello".to_owned())).await;
    assert_eq!(client.next().await["method"], "notifications/subscriptions/acknowledged");
}

//! Calls that exceed the time limit.

use std::time::Duration;

use serde_json::json;

use super::client::{Client, text};
use super::{ConnectionOptions, everything};
use crate::server::Limits;

fn options() -> ConnectionOptions {
    let limits = Limits { call: Some(Duration::from_secs(30)), ..Limits::default() };
    ConnectionOptions { limits, ..ConnectionOptions::default() }
}

#[tokio::test(start_paused = true)]
async fn a_late_call_is_cancelled_and_answered() {
    let mut client = Client::connect(&everything(), options());
    client.call(1, "sleep", json!({"count": 20_000})).await;
    client.call(2, "sleep", json!({"count": 60_000})).await;
    client.call(3, "hold", json!({})).await;
    assert_eq!(text(&client.next().await), "slept", "in time");
    for id in [2, 3] {
        let late = client.next().await;
        assert_eq!((late["id"].clone(), late["result"]["isError"].clone()), (json!(id), json!(true)));
        assert!(text(&late).contains("took longer than the limit of 30s"), "{late}");
    }
    // Its id is free again, and it sends nothing more.
    client.call(3, "echo", json!({"text": "again"})).await;
    assert_eq!(text(&client.next().await), "again");
    assert!(client.finish().await.0.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_persons_time_does_not_count() {
    let mut client = Client::connect(&everything(), options());
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}});
    client.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
    client.next().await;
    client.call(1, "inquire", json!({"about": "form"})).await;
    let asked = client.next().await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    let result = json!({"action": "accept", "content": {"color": "red"}});
    client.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).await;
    assert_eq!(text(&client.next().await), "red");
    client.finish().await;
}

//! Clients that do not read what they are told: what is kept for them is bounded, nobody else notices, and nothing of
//! what was taken in is lost.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::server::{ConnectionOptions, Limits};

/// How much text each call is answered with.
const TEXT: usize = 100_000;

/// What the server may keep for one client, in either direction.
const KEPT: usize = 1 << 20;

/// What the system keeps on the way, at most: the buffers of the sockets of both ends.
const ON_THE_WAY: usize = 32 << 20;

async fn served() -> Served {
    let limits = Limits { output: KEPT, waiting_bytes: KEPT, ..Limits::default() };
    let connect = move |_: super::super::Visitor<'_>| ConnectionOptions {
        limits: limits.clone(),
        ..ConnectionOptions::default()
    };
    let options = HttpOptions { sse: true, connect: Some(Arc::new(connect)), ..HttpOptions::default() };
    #[cfg(feature = "websocket")]
    let options = HttpOptions { websocket: true, ..options };
    Served::new(everything(), options).await
}

fn echo(id: u64) -> String {
    let params = json!({"name": "echo", "arguments": {"text": "x".repeat(TEXT)}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// Everybody else is answered as ever.
async fn others_are_served(served: &Served) {
    let mut client = served.connect().await;
    for id in 0..100 {
        let response =
            client.send(&Request::modern(id, "tools/call", json!({"name": "echo", "arguments": {"text": "x"}}))).await;
        assert_eq!((response.status, response.json()["id"].clone()), (200, json!(id)));
    }
}

#[tokio::test]
async fn a_stream_of_events_that_nobody_reads() {
    let served = served().await;
    let (mut stream, post) = sse::open(&served).await;
    let mut client = served.connect().await;
    let mut taken = 0;
    let refused = loop {
        let response = client.send(&post.clone().body(echo(taken))).await;
        if response.status != 202 {
            break response;
        }
        taken += 1;
        assert!((taken as usize) * TEXT < 4 * KEPT + ON_THE_WAY, "it takes everything");
    };
    assert_eq!((refused.status, refused.field("retry-after")), (503, Some("1")), "{refused:?}");
    others_are_served(&served).await;
    // What was taken in is answered, in order, as soon as the client reads.
    let mut answers = Vec::new();
    while answers.len() < taken as usize {
        let events = stream.chunk().await.expect("the stream goes on");
        let data = events.lines().filter_map(|line| line.strip_prefix("data: "));
        answers.extend(data.map(|data| serde_json::from_str::<Value>(data).expect("JSON")));
    }
    for (id, answer) in answers.iter().enumerate() {
        let text = answer["result"]["content"][0]["text"].as_str();
        assert_eq!((answer["id"].clone(), text.map(str::len)), (json!(id), Some(TEXT)));
    }
    assert_eq!(client.send(&post.clone().body(echo(taken))).await.status, 202, "there is room again");
    assert_eq!(stream.event().await["id"], taken);
    served.end().await;
}

#[cfg(feature = "websocket")]
#[tokio::test]
async fn a_websocket_that_nobody_reads() {
    let served = served().await;
    let (_, mut socket) = websocket::Socket::open(&served, "").await;
    let mut taken = 0;
    // Until the server takes no more for a while. The last message may be half written; nothing is sent after it.
    let flood = async {
        loop {
            socket.send(websocket::TEXT, echo(taken).as_bytes()).await;
            taken += 1;
            assert!((taken as usize) * TEXT < 4 * KEPT + 2 * ON_THE_WAY, "it takes everything");
        }
    };
    assert!(tokio::time::timeout(Duration::from_millis(500), flood).await.is_err(), "it took everything");
    others_are_served(&served).await;
    for id in 0..taken {
        let answer: Value = serde_json::from_str(&socket.message().await).expect("JSON");
        assert_eq!(
            (answer["id"].clone(), answer["result"]["content"][0]["text"].as_str().map(str::len)),
            (json!(id), Some(TEXT))
        );
    }
    served.end().await;
}

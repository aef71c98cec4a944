//! Clients that do not read: the output kept for them is bounded, other clients do not notice, and no accepted request
//! is lost.

use std::sync::Arc;
#[cfg(feature = "websocket")]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::super::HttpLimits;
use super::*;
use crate::server::{ConnectionOptions, Limits};

/// Bytes of text in each answer.
const TEXT: usize = 100_000;

/// Bytes that the server may keep for one client, in either direction.
const KEPT: usize = 1 << 20;

/// The most that the system buffers: the socket buffers of both ends.
const ON_THE_WAY: usize = 12 << 20;

async fn served(keep_alive: Duration) -> Served {
    let limits = Limits { output: KEPT, waiting_bytes: KEPT, ..Limits::default() };
    let connect = move |_: super::super::Visitor<'_>| ConnectionOptions {
        limits: limits.clone(),
        ..ConnectionOptions::default()
    };
    let limits = HttpLimits { keep_alive, ..HttpLimits::default() };
    let options = HttpOptions { sse: true, connect: Some(Arc::new(connect)), limits, ..HttpOptions::default() };
    #[cfg(feature = "websocket")]
    let options = HttpOptions { websocket: true, ..options };
    Served::new(everything(), options).await
}

fn echo(id: u64) -> String {
    let params = json!({"name": "echo", "arguments": {"text": "x".repeat(TEXT)}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// Asserts that another client is answered as usual.
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
    let served = served(Duration::from_secs(25)).await;
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
    // Accepted requests are answered, in order, as soon as the client reads.
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

/// More than all buffers on the way hold, so that it shows when the server stops reading.
#[cfg(feature = "websocket")]
const FLOOD: usize = 2 * ON_THE_WAY + 4 * KEPT;

/// Returns true if a flood comes to a halt before its end, judged by the bytes that were accepted.
#[cfg(feature = "websocket")]
async fn is_held_up(flood: &mut tokio::task::JoinHandle<()>, taken: &AtomicUsize) -> bool {
    loop {
        let before = taken.load(Ordering::Relaxed);
        if tokio::time::timeout(Duration::from_millis(500), &mut *flood).await.is_ok() {
            return false;
        }
        if taken.load(Ordering::Relaxed) == before {
            return true;
        }
    }
}

#[cfg(feature = "websocket")]
#[tokio::test]
async fn a_websocket_that_nobody_reads() {
    // Often enough that a silent peer would be given up meanwhile.
    let served = served(Duration::from_millis(200)).await;
    let (_, socket) = websocket::Socket::open(&served, "").await;
    let (mut reader, mut writer) = socket.split();
    let (pong, mut pongs) = tokio::sync::mpsc::unbounded_channel::<Vec<u8>>();
    let count = FLOOD / TEXT;
    let taken = Arc::<AtomicUsize>::default();
    let counted = taken.clone();
    let mut flood = tokio::spawn(async move {
        for id in 0..count {
            writer.send(websocket::TEXT, echo(id as u64).as_bytes()).await;
            counted.store(id, Ordering::Relaxed);
        }
        while let Some(said) = pongs.recv().await {
            writer.send(websocket::PONG, &said).await;
        }
    });
    assert!(is_held_up(&mut flood, &taken).await, "it took everything");
    others_are_served(&served).await;
    let mut next = 0;
    while next < count {
        match reader.next().await.expect("it is not given up") {
            (websocket::TEXT, answer) => {
                let answer: Value = serde_json::from_slice(&answer).expect("JSON");
                let text = answer["result"]["content"][0]["text"].as_str();
                assert_eq!((answer["id"].clone(), text.map(str::len)), (json!(next), Some(TEXT)));
                next += 1;
            }
            (websocket::PING, said) => pong.send(said).expect("it is awaited"),
            other => panic!("not a message: {other:?}"),
        }
    }
    drop(pong);
    flood.await.expect("no panic");
    drop(reader);
    served.end().await;
}

#[cfg(feature = "websocket")]
#[tokio::test]
async fn a_websocket_that_pings_and_reads_no_pongs() {
    let served = served(Duration::from_secs(25)).await;
    let (_, socket) = websocket::Socket::open(&served, "").await;
    let (mut reader, mut writer) = socket.split();
    let (at_once, frame) = (1_000, 131);
    let count = ON_THE_WAY / frame / at_once;
    let taken = Arc::<AtomicUsize>::default();
    let counted = taken.clone();
    let mut flood = tokio::spawn(async move {
        for at in 0..count {
            writer.send_times(at_once, websocket::PING, &[b'p'; 125]).await;
            counted.store(at, Ordering::Relaxed);
        }
    });
    assert!(is_held_up(&mut flood, &taken).await, "it took everything");
    others_are_served(&served).await;
    // Once the pongs are read, the server goes on. Not every ping has a pong: the latest counts (RFC 6455, 5.5.3).
    let before = taken.load(Ordering::Relaxed);
    while taken.load(Ordering::Relaxed) == before {
        assert_eq!(reader.next().await, Some((websocket::PONG, vec![b'p'; 125])));
    }
    flood.abort();
    served.end().await;
}

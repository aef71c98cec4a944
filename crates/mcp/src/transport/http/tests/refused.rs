//! Refused requests, and that other requests do not suffer from them.

use std::time::Duration;

use super::super::HttpLimits;
use super::*;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[tokio::test]
async fn without_the_token() {
    let served = Served::new(everything(), HttpOptions::default().bearer("sesame")).await;
    let discover = Request::modern(1, "server/discover", json!({}));
    for wrong in ["", "Bearer", "Bearer ", "Bearer sesam", "Bearer sesame2", "Basic sesame", "sesame"] {
        let response = served.send(&discover.clone().field("authorization", wrong)).await;
        assert_eq!((response.status, response.field("www-authenticate")), (401, Some("Bearer")), "{wrong}");
        assert_eq!(response.json()["id"], Value::Null);
    }
    assert_eq!(served.send(&discover).await.status, 401);
    for method in ["GET", "DELETE", "OPTIONS", "PUT"] {
        assert_eq!(served.send(&Request::new(method)).await.status, 401, "{method}");
    }
    assert_eq!(served.send(&discover.clone().field("authorization", "bearer sesame")).await.status, 200);
    served.end().await;
}

#[tokio::test]
async fn with_two_tokens() {
    let served = Served::new(everything(), HttpOptions::default().bearer("sesame")).await;
    let discover = Request::modern(1, "server/discover", json!({})).field("authorization", "Bearer sesame");
    assert_eq!(served.send(&discover).await.status, 200);
    // The case differs so that the test's client sends both fields.
    for second in ["Bearer sesame", "Bearer wrong"] {
        assert_eq!(served.send(&discover.clone().field("Authorization", second)).await.status, 401, "{second}");
    }
    served.end().await;
}

#[tokio::test]
async fn from_a_foreign_page_or_by_a_foreign_name() {
    let served = served().await;
    let discover = Request::modern(1, "server/discover", json!({}));
    for (name, value, status) in [
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("host", "evil.example", 403),
        ("host", "evil.example:80", 403),
        ("host", "", 403),
        ("origin", "http://localhost:5173", 200),
        ("host", "localhost", 200),
    ] {
        assert_eq!(served.send(&discover.clone().field(name, value)).await.status, status, "{name}: {value}");
    }
    let mut client = served.connect().await;
    client.write(b"GET /mcp HTTP/1.1\r\n\r\n").await;
    assert_eq!(client.head().await.0, 400, "without a host");
    served.end().await;
}

#[tokio::test]
async fn bodies_too_large_or_too_slow() {
    let limits = HttpLimits { body: 1000, body_time: Duration::from_millis(200), ..HttpLimits::default() };
    let served = Served::new(everything(), HttpOptions { limits, ..HttpOptions::default() }).await;
    let mut other = served.connect().await;
    let discover = Request::modern(1, "server/discover", json!({}));
    assert_eq!(other.send(&discover).await.status, 200);

    let response = served.send(&Request::post(vec![b' '; 1001])).await;
    assert_eq!(response.status, 413);
    assert!(response.body.contains("1000 bytes"), "{response:?}");
    // In chunks, without a length.
    let mut client = served.connect().await;
    client.write(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n").await;
    client.write(b"transfer-encoding: chunked\r\n\r\n").await;
    for _ in 0..3 {
        client.write(format!("1f4\r\n{}\r\n", " ".repeat(500)).as_bytes()).await;
    }
    assert_eq!(client.head().await.0, 413);
    // A body that does not end.
    let mut client = served.connect().await;
    client.write(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n").await;
    client.write(b"content-length: 100\r\n\r\n{").await;
    let response = client.response().await;
    assert_eq!(response.status, 408);
    assert!(client.is_closed().await);

    assert_eq!(other.send(&discover).await.status, 200, "the other one is as before");
    served.end().await;
}

#[tokio::test]
async fn heads_too_large_or_too_slow() {
    let limits = HttpLimits { head_time: Duration::from_millis(200), ..HttpLimits::default() };
    let served = Served::new(everything(), HttpOptions { limits, ..HttpOptions::default() }).await;
    let discover = Request::modern(1, "server/discover", json!({}));
    let large = discover.clone().field("x-large", &"x".repeat(100_000));
    assert_eq!(served.send(&large).await.status, 431);
    let many = (0..200).fold(discover.clone(), |request, n| request.field(&format!("x-{n}"), "y"));
    assert_eq!(served.send(&many).await.status, 431);
    let mut client = served.connect().await;
    client.write(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: ").await;
    assert!(client.is_closed().await, "a head that does not end");
    let mut client = served.connect().await;
    client.write(b"hello\r\n\r\n").await;
    assert_eq!(client.head().await.0, 400);
    assert_eq!(served.send(&discover).await.status, 200);
    served.end().await;
}

#[tokio::test]
async fn connections_that_send_nothing_that_may_come_in() {
    let unauthenticated_time = Duration::from_millis(300);
    let limits = HttpLimits { unauthenticated_time, head_time: Duration::from_secs(3600), ..HttpLimits::default() };
    let served = Served::new(everything(), HttpOptions { limits, ..HttpOptions::default() }.bearer("sesame")).await;
    let discover = Request::modern(1, "server/discover", json!({}));
    let known = discover.clone().field("authorization", "Bearer sesame");
    // An authorized connection may be silent for as long as its own limit allows.
    let mut first = served.connect().await;
    assert_eq!(first.send(&known).await.status, 200);
    let (mut silent, mut slow) = (served.connect().await, served.connect().await);
    slow.write(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: ").await;
    let mut stranger = served.connect().await;
    assert_eq!(stranger.send(&discover).await.status, 401);
    for connection in [&mut silent, &mut slow, &mut stranger] {
        assert!(connection.is_closed().await);
    }
    assert_eq!(first.send(&known).await.status, 200);
    served.end().await;
}

#[tokio::test]
async fn silent_connections_make_room_for_new_ones() {
    let limits = HttpLimits { connections: 4, ..HttpLimits::default() };
    let served = Served::new(everything(), HttpOptions { limits, ..HttpOptions::default() }.bearer("sesame")).await;
    let discover = Request::modern(1, "server/discover", json!({}));
    let known = discover.clone().field("authorization", "Bearer sesame");
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(served.connect().await);
    }
    // One is in the middle of its head, and one was refused: neither has shown the token.
    silent[1].write(b"POST /mcp HTTP/1.1\r\nx-slow: ").await;
    assert_eq!(silent[2].send(&discover).await.status, 401);
    let mut authorized = Vec::new();
    for silent in &mut silent {
        let mut client = served.connect().await;
        assert_eq!(client.send(&known).await.status, 200);
        assert!(silent.is_closed().await, "the oldest made room");
        authorized.push(client);
    }
    let late = [served.connect().await, served.connect().await];
    for client in &mut authorized {
        assert_eq!(client.send(&known).await.status, 200);
    }
    drop((late, authorized));
    served.end().await;
}

/// A connection that was just closed would reset, so that the client could not read the answer.
#[tokio::test]
async fn a_client_that_sends_a_large_body_first_reads_the_answer() {
    let limits = HttpLimits { body: 1000, ..HttpLimits::default() };
    let served = Served::new(everything(), HttpOptions { limits, ..HttpOptions::default() }.bearer("sesame")).await;
    let post = Request::post(vec![b' '; 40 << 20]);
    for (request, status) in [(post.clone().field("authorization", "Bearer sesame"), 413), (post, 401)] {
        let response = served.send(&request).await;
        assert_eq!((response.status, response.field("connection")), (status, Some("close")), "{response:?}");
    }
    let mut client = served.connect().await;
    client.write(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n").await;
    client.write(b"authorization: Bearer sesame\r\ntransfer-encoding: chunked\r\n\r\n2800000\r\n").await;
    client.write(&vec![b' '; 40 << 20]).await;
    assert_eq!(client.response().await.status, 413);
    served.end().await;
}

#[tokio::test]
async fn bodies_that_are_no_message() {
    let served = served().await;
    for (body, code) in [
        ("", -32700),
        ("hello", -32700),
        ("{", -32700),
        ("7", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (PING, -32600),
        (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, -32600),
    ] {
        let response = served.send(&Request::post(body)).await;
        assert_eq!((response.status, response.code()), (400, code), "{body}: {response:?}");
    }
    let response = served.send(&Request::post(PING)).await;
    assert_eq!(response.json()["id"], 1, "the id comes back where it can be read");
    assert_eq!(served.send(&Request::post(vec![0xff, 0xfe])).await.code(), -32700);
    let deep = "[".repeat(100_000);
    assert_eq!(served.send(&Request::post(deep)).await.code(), -32700);
    for (name, value, status) in [
        ("content-type", "text/plain", 415),
        ("accept", "application/json", 406),
        ("accept", "text/event-stream", 406),
        ("accept", "text/html", 406),
    ] {
        assert_eq!(served.send(&Request::post(PING).field(name, value)).await.status, status, "{name}: {value}");
    }
    let discover = Request::modern(1, "server/discover", json!({}));
    for accept in ["*/*", "application/*, text/*", "text/event-stream;q=0.5,application/json", "APPLICATION/JSON,*/*"] {
        assert_eq!(served.send(&discover.clone().field("accept", accept)).await.status, 200, "{accept}");
    }
    assert_eq!(served.send(&discover.without("accept")).await.status, 200);
    assert_eq!(served.send(&Request::new("PUT")).await.status, 405);
    assert_eq!(served.send(&Request::new("GET").path("/other")).await.status, 404);
    served.end().await;
}

#[tokio::test]
async fn more_sessions_than_there_may_be() {
    let limits = HttpLimits { sessions: 2, ..HttpLimits::default() };
    let served = Served::new(everything(), HttpOptions { limits, ..HttpOptions::default() }).await;
    let first = session(&served, "2025-11-25").await;
    session(&served, "2025-06-18").await;
    let response = served.send(&initialize("2025-11-25")).await;
    assert_eq!((response.status, response.field("retry-after")), (503, Some("1")));
    assert_eq!(response.json()["error"]["data"], json!({"reason": "overloaded", "limit": 2}));
    let ping = in_session(&first, &serde_json::from_str(PING).expect("JSON"));
    assert_eq!(served.send(&ping).await.json()["result"], json!({}), "those there are live on");
    assert_eq!(served.send(&Request::new("DELETE").field("mcp-session-id", &first)).await.status, 204);
    session(&served, "2025-11-25").await;
    served.end().await;
}

#[tokio::test]
async fn more_requests_than_may_wait() {
    let limits = HttpLimits { running: 1, waiting: 1, streams: 1, ..HttpLimits::default() };
    let served = Served::new(everything(), HttpOptions { limits, ..HttpOptions::default() }).await;
    let hold = Request::modern(1, "tools/call", json!({"name": "hold", "_meta": {"progressToken": 1}}));
    let discover = Request::modern(2, "server/discover", json!({}));
    let (mut running, mut waiting) = (served.connect().await, served.connect().await);
    running.begin(&hold).await;
    running.head().await;
    waiting.begin(&discover).await;
    // Either of the two may come first: the other one is refused.
    let mut third = served.connect().await;
    third.begin(&discover).await;
    let refused = tokio::select! {
        refused = waiting.response() => refused,
        refused = third.response() => refused,
    };
    assert_eq!((refused.status, refused.json()["error"]["data"]["reason"].clone()), (503, json!("overloaded")));

    let listen = Request::modern(3, "subscriptions/listen", json!({"notifications": {}}));
    let mut listening = served.connect().await;
    listening.begin(&listen).await;
    assert_eq!(listening.head().await.0, 200);
    assert_eq!(served.send(&listen).await.status, 503);
    drop(running);
    served.end().await;
}

#[tokio::test]
async fn more_bytes_than_all_bodies_may_have() {
    let limits = HttpLimits { bodies: 1000, ..HttpLimits::default() };
    let served = Served::new(everything(), HttpOptions { limits, ..HttpOptions::default() }).await;
    let padded = |id: u64, method: &str, name: &str| {
        let params = json!({"name": name, "_meta": {"progressToken": 1, "padding": "x".repeat(500)}});
        Request::modern(id, method, params)
    };
    let mut first = served.connect().await;
    first.begin(&padded(1, "tools/call", "hold")).await;
    first.head().await;
    let response = served.send(&padded(2, "server/discover", "x")).await;
    assert_eq!((response.status, response.json()["error"]["data"]["limit"].clone()), (503, json!(1000)));
    // Once the first has ended, a slot is free again.
    drop(first);
    while served.send(&padded(3, "server/discover", "x")).await.status == 503 {
        tokio::task::yield_now().await;
    }
    served.end().await;
}

#[tokio::test]
async fn a_page_that_may_send_requests_sees_the_answers() {
    let served = Served::new(everything(), HttpOptions::default().bearer("sesame")).await;
    let ask = Request::new("OPTIONS")
        .field("origin", "http://localhost:6274")
        .field("access-control-request-method", "POST")
        .field("access-control-request-headers", "authorization,content-type,mcp-method");
    let response = served.send(&ask).await;
    assert_eq!((response.status, response.field("access-control-allow-methods")), (204, Some("GET, POST, DELETE")));
    assert_eq!(response.field("access-control-allow-headers"), Some("authorization,content-type,mcp-method"));
    let send =
        initialize("2025-11-25").field("origin", "http://localhost:6274").field("authorization", "Bearer sesame");
    let response = served.send(&send).await;
    assert_eq!(response.field("access-control-allow-origin"), Some("http://localhost:6274"));
    assert_eq!(response.field("access-control-expose-headers"), Some("mcp-session-id"));
    for refused in [ask.clone().field("origin", "http://evil.example"), ask.field("host", "evil.example")] {
        let response = served.send(&refused).await;
        assert_eq!(response.status, 403, "{response:?}");
    }
    let response = served.send(&send.field("origin", "http://evil.example")).await;
    assert_eq!((response.status, response.field("access-control-allow-origin")), (403, None));
    served.end().await;
}

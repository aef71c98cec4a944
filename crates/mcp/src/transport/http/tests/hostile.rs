//! Requests that intermediaries could read in two ways, and clients that ask for events of others.

use std::time::Duration;

use expect_test::{Expect, expect};

use super::*;

#[cfg(feature = "websocket")]
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{
"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// Returns the statuses of the answers to these bytes, sent at once on a new connection, until the server closes the
/// connection or is silent.
async fn statuses(served: &Served, bytes: &str) -> String {
    let mut client = served.connect().await;
    client.write(bytes.as_bytes()).await;
    let mut said = String::new();
    while let Ok(Some(status)) = tokio::time::timeout(Duration::from_millis(300), client.next_status()).await {
        said.push_str(&format!("{status} "));
    }
    said
}

async fn check(cases: &[(&str, &str)], expected: Expect) {
    let served = served().await;
    let mut said = String::new();
    for (about, head) in cases {
        let head = head.replace('\n', "\r\n");
        said.push_str(&format!("{about}: {}\n", statuses(&served, &head).await.trim_end()));
        // Other clients are not affected.
        assert_eq!(served.send(&Request::modern(1, "server/discover", json!({}))).await.status, 200);
    }
    expected.assert_eq(&said);
    served.end().await;
}

#[tokio::test]
async fn heads_that_say_two_things() {
    let post = "POST /mcp HTTP/1.1\nHost: localhost\nAccept: */*\nContent-Type: application/json\nMCP-Protocol-Version: 2026-07-28\nMcp-Method: server/discover\n";
    // Line ends become CRLF, as in a head; in JSON they mean nothing.
    let body = DISCOVER.replace('\n', " ");
    let (body, length) = (body.as_str(), body.len());
    let with = |fields: &str, body: &str| format!("{post}{fields}\n{body}");
    // The text after the first request's body would be a second request if the two ends disagreed on its length.
    let second = "GET /other HTTP/1.1\nHost: localhost\n\n".to_owned();
    let cases = [
        ("one length", with(&format!("Content-Length: {length}\n"), body)),
        ("the same length twice", with(&format!("Content-Length: {length}\nContent-Length: {length}\n"), body)),
        ("two lengths", with(&format!("Content-Length: {length}\nContent-Length: 0\n"), &format!("{body}{second}"))),
        ("a length with a sign", with(&format!("Content-Length: +{length}\n"), body)),
        (
            "a length and chunks",
            with(&format!("Content-Length: {length}\nTransfer-Encoding: chunked\n"), &format!("0\n\n{second}")),
        ),
        ("chunks and something else", with("Transfer-Encoding: chunked, identity\n", &format!("0\n\n{second}"))),
        ("an encoding that is none", with("Transfer-Encoding: xchunked\n", &format!("0\n\n{second}"))),
        ("chunks without an end", with("Transfer-Encoding: chunked\n", "zz\n")),
        ("a blank before the colon", with(&format!("Content-Length : {length}\n"), body)),
        ("a folded field", with(&format!("X-Folded: a\n b\nContent-Length: {length}\n"), body)),
        ("two hosts", "GET /mcp HTTP/1.1\nHost: localhost\nHost: localhost\n\n".to_owned()),
        ("no host", "GET /mcp HTTP/1.1\n\n".to_owned()),
        ("an old client without a host", "GET /mcp HTTP/1.0\n\n".to_owned()),
        ("an address of another host", "GET http://evil.example/mcp HTTP/1.1\nHost: localhost\n\n".to_owned()),
        ("a host with a user", "GET /mcp HTTP/1.1\nHost: localhost@evil.example\n\n".to_owned()),
        (
            "two versions",
            with(
                &format!(
                    "MCP-Protocol-Version: 2026-07-28\nMCP-Protocol-Version: 2025-11-25\nContent-Length: {length}\n"
                ),
                body,
            ),
        ),
        ("two sessions", with(&format!("Mcp-Session-Id: a\nMcp-Session-Id: b\nContent-Length: {length}\n"), body)),
        ("a path with dots", "GET /x/../mcp HTTP/1.1\nHost: localhost\n\n".to_owned()),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|(about, text)| (*about, text.as_str())).collect();
    check(
        &cases,
        expect![[r#"
        one length: 200
        the same length twice: 200
        two lengths: 400
        a length with a sign: 400
        a length and chunks: 400
        chunks and something else: 400
        an encoding that is none: 400
        chunks without an end: 400
        a blank before the colon: 400
        a folded field: 400
        two hosts: 400
        no host: 400
        an old client without a host: 400
        an address of another host: 403
        a host with a user: 403
        two versions: 400
        two sessions: 200
        a path with dots: 404
    "#]],
    )
    .await;
}

#[tokio::test]
async fn who_comes_back_for_what_there_never_was() {
    let served = served().await;
    let (session, other) = (session(&served, "2025-11-25").await, session(&served, "2025-11-25").await);
    let mut client = served.connect().await;
    client.begin(&in_session(&session, &call(1, "report", json!({"count": 3})))).await;
    let response = client.response().await;
    let event = response.body.lines().rev().find_map(|line| line.strip_prefix("id: ")).expect("an event").to_owned();
    let back = |session: &str, last: &str| {
        let get = Request::new("GET").field("accept", "text/event-stream");
        get.field("mcp-session-id", session).field("last-event-id", last)
    };
    let beyond = format!("{}-999", event.split('-').next().expect("a stream"));
    for last in [
        "",
        "-",
        "1",
        "x-y",
        "1-",
        "-1",
        "1--1",
        "1-1-1",
        "9-0",
        "18446744073709551616-0",
        "1-18446744073709551615",
        "1-99999999999999999999",
        "0x1-0",
        "\u{e9}-1",
        &beyond,
    ] {
        let response = served.send(&back(&session, last)).await;
        assert_eq!(response.status, 400, "{last:?}: {response:?}");
    }
    // The events of another session are not available, even to the same principal.
    assert_eq!(served.send(&back(&other, &event)).await.status, 400);
    // The session's own events are, as often as they are asked for.
    let first = format!("{}-0", event.split('-').next().expect("a stream"));
    for _ in 0..3 {
        let again = served.send(&back(&session, &first)).await;
        assert_eq!(again.messages().last().expect("the answer")["id"], 1);
    }
    served.end().await;
}

#[cfg(feature = "websocket")]
mod frames {
    use super::super::super::HttpLimits;
    use super::super::websocket::{CLOSE, PING, PONG, Socket, TEXT, code, served};
    use super::*;

    const FIN: u8 = 0x80;
    const CONTINUES: u8 = 0;

    /// Returns a masked frame of at most 125 bytes; the mask is of zeros.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        [&[first, 0x80 | payload.len() as u8, 0, 0, 0, 0], payload].concat()
    }

    #[tokio::test]
    async fn a_message_in_pieces() {
        let served = served(HttpOptions::default()).await;
        let (_, mut socket) = Socket::open(&served, "").await;
        // One byte per frame, with a ping and an empty frame between any two.
        let mut bytes = Vec::new();
        for (at, byte) in super::PING.bytes().enumerate() {
            bytes.extend(frame(if at == 0 { TEXT } else { CONTINUES }, &[byte]));
            bytes.extend(frame(CONTINUES, b""));
            bytes.extend(frame(FIN | PING, b"p"));
        }
        bytes.extend(frame(FIN | CONTINUES, b""));
        socket.write(&bytes).await;
        let mut pongs = 0;
        loop {
            match socket.next().await.expect("it is served") {
                (PONG, said) if said == b"p" => pongs += 1,
                (TEXT, answer) => {
                    assert_eq!(answer, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
                    break;
                }
                other => panic!("not an answer: {other:?}"),
            }
        }
        assert!(pongs > 0, "the latest ping has its answer");
        served.end().await;
    }

    #[tokio::test]
    async fn frames_that_are_none() {
        let limits = HttpLimits { body: 1_000, ..HttpLimits::default() };
        let served = served(HttpOptions { limits, ..HttpOptions::default() }).await;
        let hundred = [b' '; 100];
        let endless: Vec<u8> = (0..11).flat_map(|at| frame(if at == 0 { TEXT } else { CONTINUES }, &hundred)).collect();
        for (about, bytes) in [
            ("a continuation of nothing", frame(FIN | CONTINUES, b"x")),
            ("a message within a message", [frame(TEXT, b"{"), frame(FIN | TEXT, b"{}")].concat()),
            ("a ping in pieces", frame(PING, b"p")),
            ("reserved bits", frame(FIN | 0x40 | TEXT, b"{}")),
            ("a reserved kind", frame(FIN | 3, b"")),
            ("no mask", vec![FIN | TEXT, 2, b'{', b'}']),
            ("text that is no UTF-8", frame(FIN | TEXT, b"\xff\xfe")),
            ("a message that is too long, in pieces", endless),
            ("a frame that says it is", [&[FIN | TEXT, 0xff][..], &u64::MAX.to_be_bytes(), &[0; 4]].concat()),
        ] {
            let (_, mut socket) = Socket::open(&served, "").await;
            socket.write(&bytes).await;
            assert_eq!(code(socket.next().await), 1009, "{about}");
            // Other clients are not affected.
            let (_, mut other) = Socket::open(&served, "").await;
            other.send(TEXT, super::PING.as_bytes()).await;
            assert_eq!(other.message().await, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        }
        // A close in the middle of a message is a close, and is answered (RFC 6455, 5.5.1).
        let (_, mut socket) = Socket::open(&served, "").await;
        socket.write(&[frame(TEXT, b"{"), frame(FIN | CLOSE, &1000_u16.to_be_bytes())].concat()).await;
        assert_eq!(code(socket.next().await), 1000);
        served.end().await;
    }
}

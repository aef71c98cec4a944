//! A client that speaks raw frames (RFC 6455).

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::super::HttpLimits;
use super::*;

pub(super) struct Socket<S = TcpStream> {
    stream: S,
}

/// A frame: its opcode and its payload.
type Frame = (u8, Vec<u8>);

pub(super) const TEXT: u8 = 1;
const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

pub(super) async fn served(options: HttpOptions) -> Served {
    Served::new(everything(), HttpOptions { websocket: true, ..options }).await
}

impl Socket {
    /// Returns the status, and the socket if it was opened.
    pub(super) async fn open(served: &Served, more: &str) -> (String, Socket) {
        let mut stream = TcpStream::connect(("127.0.0.1", served.port)).await.expect("it listens");
        let head = format!(
            "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("it reads");
        let mut said = Vec::new();
        while !said.ends_with(b"\r\n\r\n") {
            said.push(stream.read_u8().await.expect("an answer"));
        }
        (String::from_utf8(said).expect("ASCII"), Socket { stream })
    }

    pub(super) fn split(self) -> (Socket<OwnedReadHalf>, Socket<OwnedWriteHalf>) {
        let (reader, writer) = self.stream.into_split();
        (Socket { stream: reader }, Socket { stream: writer })
    }

    pub(super) async fn message(&mut self) -> String {
        loop {
            match self.next().await {
                Some((TEXT, payload)) => return String::from_utf8(payload).expect("UTF-8"),
                // Answers pings, as any client does.
                Some((PING, payload)) => self.send(PONG, &payload).await,
                other => panic!("not a message: {other:?}"),
            }
        }
    }

    async fn json(&mut self) -> Value {
        serde_json::from_str(&self.message().await).expect("JSON")
    }
}

impl<S: AsyncWrite + Unpin> Socket<S> {
    pub(super) async fn send(&mut self, kind: u8, payload: &[u8]) {
        self.send_times(1, kind, payload).await;
    }

    /// Sends the same frame several times at once.
    pub(super) async fn send_times(&mut self, times: usize, kind: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | kind];
        match payload.len() {
            short @ 0..126 => frame.push(0x80 | short as u8),
            long => {
                frame.push(0x80 | 127);
                frame.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        // A mask of zeros is a mask.
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(payload);
        self.write(&frame.repeat(times)).await;
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) {
        // A server that refuses a frame need not read it to its end.
        let _ = self.stream.write_all(bytes).await;
    }
}

impl<S: AsyncRead + Unpin> Socket<S> {
    pub(super) async fn next(&mut self) -> Option<Frame> {
        let kind = self.stream.read_u8().await.ok()? & 0x0f;
        let length = match self.stream.read_u8().await.ok()? {
            126 => self.stream.read_u16().await.ok()?.into(),
            127 => self.stream.read_u64().await.ok()?,
            short => short.into(),
        };
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).await.ok()?;
        Some((kind, payload))
    }
}

/// Returns the code that a close frame gives.
pub(super) fn code(frame: Option<Frame>) -> u16 {
    match frame {
        Some((CLOSE, payload)) => u16::from_be_bytes([payload[0], payload[1]]),
        other => panic!("not closed: {other:?}"),
    }
}

#[tokio::test]
async fn a_conversation_of_both_eras() {
    let served = served(HttpOptions::default()).await;
    let (head, mut socket) = Socket::open(&served, "sec-websocket-protocol: mcp\r\n").await;
    assert!(head.starts_with("HTTP/1.1 101") && head.contains("sec-websocket-protocol: mcp"), "{head}");
    // RFC 6455, section 1.3: proves that the server read the key.
    assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    socket.send(TEXT, Request::modern(1, "server/discover", json!({})).text().as_bytes()).await;
    assert_eq!(socket.json().await["result"]["resultType"], "complete");
    socket.send(TEXT, initialize("2025-06-18").text().as_bytes()).await;
    assert_eq!(socket.json().await["result"]["protocolVersion"], "2025-06-18");
    socket.send(TEXT, b"{\"jsonrpc\":\"2.0\",\n \"id\":3,\n \"method\":\"ping\"}").await;
    assert_eq!(socket.json().await["id"], 3, "lines mean nothing here");
    socket.send(PING, b"there?").await;
    assert_eq!(socket.next().await, Some((PONG, b"there?".to_vec())));
    socket.send(TEXT, call(4, "inquire", json!({"about": "form"})).to_string().as_bytes()).await;
    let asked = socket.json().await;
    let answer =
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"color": "red"}}});
    socket.send(TEXT, answer.to_string().as_bytes()).await;
    assert_eq!(socket.json().await["result"]["content"][0]["text"], "red");
    socket.send(TEXT, call(5, "hold", json!({})).to_string().as_bytes()).await;
    socket.send(TEXT, br#"{"jsonrpc":"2.0","id":6,"method":"ping"}"#).await;
    assert_eq!(socket.json().await["id"], 6, "the call before it was taken");
    let ended = tokio::spawn(served.end());
    // The call is cancelled, and the socket closed.
    assert_eq!(socket.json().await["id"], 5);
    assert_eq!(code(socket.next().await), 1001);
    ended.await.expect("no panic");
}

#[tokio::test]
async fn what_is_refused() {
    let limits = HttpLimits { body: 10_000, keep_alive: Duration::from_millis(50), ..HttpLimits::default() };
    let served = served(HttpOptions { limits, ..HttpOptions::default() }.bearer("sesame")).await;
    for (more, status) in [
        ("", "401"),
        ("authorization: Bearer wrong\r\n", "401"),
        ("sec-websocket-protocol: mcp, bearer.wrong\r\n", "401"),
        ("authorization: Bearer sesame\r\norigin: http://evil.example\r\n", "403"),
        ("authorization: Bearer sesame\r\n", "101"),
        ("sec-websocket-protocol: mcp, bearer.sesame\r\n", "101"),
    ] {
        let (head, _) = Socket::open(&served, more).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{more}: {head}");
        assert!(!head.contains("bearer."), "a token does not come back: {head}");
    }
    let plain = Request::new("GET").path("/ws").field("authorization", "Bearer sesame");
    assert_eq!(served.send(&plain).await.status, 400);

    let authorized = "authorization: Bearer sesame\r\n";
    let (_, mut socket) = Socket::open(&served, authorized).await;
    socket.send(BINARY, b"{}").await;
    assert_eq!(code(socket.next().await), 1003);
    let (_, mut socket) = Socket::open(&served, authorized).await;
    socket.send(TEXT, &[b' '; 10_001]).await;
    assert_eq!(code(socket.next().await), 1009);
    // A peer that answers no pings is given up.
    let (_, mut socket) = Socket::open(&served, authorized).await;
    assert_eq!(socket.next().await, Some((PING, Vec::new())));
    assert_eq!(socket.next().await, Some((PING, Vec::new())));
    assert_eq!(socket.next().await, None);
    served.end().await;
}

//! A WebSocket client with raw frames (RFC 6455), whose connection can be cut.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// The timeout, longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// An open WebSocket.
pub(crate) struct WebSocket {
    stream: BufReader<TcpStream>,
    last_id: u64,
    /// Notifications that arrived between the answers.
    told: Vec<Value>,
}

impl WebSocket {
    /// Connects to `/ws` with additional header lines; returns the answer's header if it is refused.
    pub(crate) fn open(address: &str, lines: &[&str]) -> Result<WebSocket, String> {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let own = [
            "GET /ws HTTP/1.1",
            &format!("Host: {address}"),
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ];
        stream.write_all(format!("{}\r\n\r\n", [&own[..], lines].concat().join("\r\n")).as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        let head = String::from_utf8(head).unwrap();
        if head.starts_with("HTTP/1.1 101") {
            Ok(WebSocket { stream, last_id: 0, told: Vec::new() })
        } else {
            Err(head)
        }
    }

    /// Connects as the holder of this token.
    pub(crate) fn connect(address: &str, token: &str) -> WebSocket {
        let bearer = format!("Authorization: Bearer {token}");
        WebSocket::open(address, &[&bearer]).unwrap_or_else(|head| panic!("{head}"))
    }

    /// Sends a request and returns its whole answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(1, json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string().as_bytes());
        loop {
            let message = self.message();
            if message["id"] == id {
                return message;
            }
            self.told.push(message);
        }
    }

    /// Returns the next notification.
    pub(crate) fn next_notification(&mut self) -> Value {
        if self.told.is_empty() { self.message() } else { self.told.remove(0) }
    }

    fn message(&mut self) -> Value {
        loop {
            match self.frame() {
                (1, payload) => return serde_json::from_slice(&payload).unwrap(),
                // Answer a ping, as every client does.
                (9, payload) => self.send(10, &payload),
                (kind, payload) => panic!("not a message: {kind} {:?}", String::from_utf8_lossy(&payload)),
            }
        }
    }

    fn frame(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head).unwrap();
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length).unwrap();
                u16::from_be_bytes(length).into()
            }
            127 => {
                let mut length = [0; 8];
                self.stream.read_exact(&mut length).unwrap();
                u64::from_be_bytes(length)
            }
            short => short.into(),
        };
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).unwrap();
        (head[0] & 0x0f, payload)
    }

    fn send(&mut self, kind: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | kind];
        match payload.len() {
            short @ 0..126 => frame.push(0x80 | short as u8),
            long => {
                frame.push(0x80 | 127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        // A mask of zeros is valid.
        frame.extend([0; 4]);
        frame.extend(payload);
        self.stream.get_mut().write_all(&frame).unwrap();
    }

    /// Cuts the connection without a closing frame; data in flight is lost.
    pub(crate) fn cut(self) {
        self.stream.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
    }
}

//! A WebSocket client whose connection can be cut.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};

use serde_json::{Value, json};
use testkit::patience;
use tungstenite::{ClientRequestBuilder, HandshakeError, Message};

/// An open WebSocket.
pub(crate) struct WebSocket {
    socket: tungstenite::WebSocket<TcpStream>,
    last_id: u64,
    /// Notifications that arrived between the answers.
    told: VecDeque<Value>,
}

impl WebSocket {
    /// Connects to `/ws` with additional header lines; returns the first line of the answer if it is refused.
    pub(crate) fn open(address: &str, lines: &[&str]) -> Result<WebSocket, String> {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(patience())).unwrap();
        let request = ClientRequestBuilder::new(format!("ws://{address}/ws").parse().unwrap());
        let request = lines.iter().fold(request, |request, line| {
            let (name, value) = line.split_once(": ").unwrap();
            request.with_header(name, value)
        });
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(WebSocket { socket, last_id: 0, told: VecDeque::new() }),
            Err(HandshakeError::Failure(tungstenite::Error::Http(refusal))) => {
                Err(format!("HTTP/1.1 {}", refusal.status()))
            }
            Err(error) => panic!("{error}"),
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
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.socket.send(Message::text(request.to_string())).unwrap();
        loop {
            let message = self.message();
            if message["id"] == id {
                return message;
            }
            self.told.push_back(message);
        }
    }

    /// Returns the next notification.
    pub(crate) fn next_notification(&mut self) -> Value {
        self.told.pop_front().unwrap_or_else(|| self.message())
    }

    fn message(&mut self) -> Value {
        loop {
            match self.socket.read().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                // Reading on sends the answer.
                Message::Ping(_) => {}
                other => panic!("not a message: {other:?}"),
            }
        }
    }

    /// Cuts the connection without a closing frame; data in flight is lost.
    pub(crate) fn cut(self) {
        self.socket.get_ref().shutdown(Shutdown::Both).unwrap();
    }
}

//! An OpenAI-compatible endpoint on loopback that returns the given answers in order and records the requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

pub(crate) struct Endpoint {
    pub url: String,
    asked: Arc<Mutex<Vec<(Instant, String)>>>,
}

/// An answer: its status, headers and body.
pub(crate) struct Reply(pub u16, pub &'static str, pub Value);

impl Reply {
    /// Returns the bytes of the whole answer.
    fn raw(self) -> String {
        let Reply(status, headers, body) = self;
        let body = body.to_string();
        format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    }
}

impl Endpoint {
    /// Starts the endpoint. After the last reply, it closes connections without an answer.
    pub(crate) fn start(replies: Vec<Reply>) -> Endpoint {
        Endpoint::raw(replies.into_iter().map(Reply::raw).collect())
    }

    /// Starts an endpoint that answers with these bytes and then closes the connection.
    pub(crate) fn raw(replies: Vec<String>) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("bound"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        std::thread::spawn(move || {
            let mut replies = replies.into_iter();
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream);
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or_default() == 0 || line == "\r\n" {
                        break;
                    }
                    let line = line.to_ascii_lowercase();
                    if let Some(value) = line.strip_prefix("content-length:") {
                        length = value.trim().parse().expect("a length");
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).expect("a body");
                kept.lock().expect("no panic").push((Instant::now(), String::from_utf8(body).expect("UTF-8")));
                let Some(reply) = replies.next() else { continue };
                // A client that has read enough closes the connection.
                let _ = reader.get_mut().write_all(reply.as_bytes());
            }
        });
        Endpoint { url, asked }
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.bodies().iter().map(|body| serde_json::from_str(body).expect("JSON")).collect()
    }

    /// Returns the bytes of the request bodies.
    pub(crate) fn bodies(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").iter().map(|(_, body)| body.clone()).collect()
    }

    /// Returns the arrival times of the requests.
    pub(crate) fn times(&self) -> Vec<Instant> {
        self.asked.lock().expect("no panic").iter().map(|(at, _)| *at).collect()
    }
}

/// Builds the answer of a model with this text and finish reason.
pub(crate) fn text_reply(text: &str, finish: &str) -> Reply {
    let choice = json!({"message": {"role": "assistant", "content": text}, "finish_reason": finish});
    Reply(200, "", json!({"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}))
}

/// Builds a streamed answer of these parts; without a finish reason, the stream is cut off.
pub(crate) fn streams(parts: &[&str], finish: Option<&str>) -> String {
    let mut said = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
    let mut event = |event: Value| said.push_str(&format!("data: {event}\n\n"));
    for part in parts {
        event(json!({"choices": [{"index": 0, "delta": {"content": part}, "finish_reason": null}]}));
    }
    if let Some(finish) = finish {
        event(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
        event(json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": parts.len()}}));
        said.push_str("data: [DONE]\n\n");
    }
    said
}

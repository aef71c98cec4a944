//! An OpenAI-compatible endpoint on loopback that answers what a test says, in order, and keeps what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

pub(crate) struct Endpoint {
    pub url: String,
    asked: Arc<Mutex<Vec<Value>>>,
}

/// One answer: its status, headers and body.
pub(crate) struct Reply(pub u16, pub &'static str, pub Value);

impl Endpoint {
    /// After the last reply, connections are closed without a word.
    pub(crate) fn start(replies: Vec<Reply>) -> Endpoint {
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
                kept.lock().expect("no panic").push(serde_json::from_slice(&body).expect("JSON"));
                let Some(Reply(status, headers, body)) = replies.next() else { continue };
                let body = body.to_string();
                let head = format!(
                    "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                reader.get_mut().write_all(format!("{head}{body}").as_bytes()).expect("written");
            }
        });
        Endpoint { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().expect("no panic").clone()
    }
}

/// A model says this, and stops for this reason.
pub(crate) fn says(text: &str, finish: &str) -> Reply {
    let choice = json!({"message": {"role": "assistant", "content": text}, "finish_reason": finish});
    Reply(200, "", json!({"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}))
}

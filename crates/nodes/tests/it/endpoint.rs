//! A model server on loopback that returns the given answers in order.

use std::time::Instant;

use parking_lot::Mutex;
use serde_json::{Value, json};
use testkit::model_server::{ModelServer, answer, completion};

pub(crate) struct Endpoint {
    pub url: String,
    server: ModelServer,
}

/// An answer: its status, headers and body.
pub(crate) struct Reply(pub u16, pub &'static str, pub Value);

impl Endpoint {
    /// Starts the endpoint. After the last reply, it closes connections without an answer.
    pub(crate) fn start(replies: Vec<Reply>) -> Endpoint {
        Endpoint::raw(replies.into_iter().map(|Reply(status, lines, body)| answer(status, lines, &body)).collect())
    }

    /// Starts an endpoint that answers with these bytes and then closes the connection.
    pub(crate) fn raw(replies: Vec<String>) -> Endpoint {
        let replies = Mutex::new(replies.into_iter());
        let server = ModelServer::start(move |_| replies.lock().next().unwrap_or_default());
        Endpoint { url: server.url.clone(), server }
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.server.requests().iter().map(|request| request.body()).collect()
    }

    /// Returns the bytes of the request bodies.
    pub(crate) fn bodies(&self) -> Vec<String> {
        self.server.requests().into_iter().map(|request| request.text).collect()
    }

    /// Returns the arrival times of the requests.
    pub(crate) fn times(&self) -> Vec<Instant> {
        self.server.requests().iter().map(|request| request.at).collect()
    }
}

/// Builds the answer of a model with this text and finish reason.
pub(crate) fn text_reply(text: &str, finish: &str) -> Reply {
    Reply(200, "", completion(text, finish))
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

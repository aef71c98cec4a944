//! A model server on loopback, with the API of OpenAI, whose answers a test decides. [`crate::scripted_model`] instead
//! answers coding agents, which call tools.

use parking_lot::Mutex;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

/// A running server.
pub struct ModelServer {
    pub url: String,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

/// A request to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The key in its header; empty without one.
    pub key: String,
    /// The body.
    pub text: String,
    /// The time of its arrival.
    pub at: Instant,
}

impl ModelRequest {
    /// Parses the body.
    pub fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Returns the last message.
    pub fn prompt(&self) -> String {
        let body = self.body();
        let last = body["messages"].as_array().and_then(|messages| messages.last()?["content"].as_str());
        last.unwrap_or_else(|| panic!("no message: {body}")).to_owned()
    }
}

impl ModelServer {
    /// Starts a server that answers each request with the bytes that `answer` returns, and then closes the connection.
    pub fn start(answer: impl Fn(&ModelRequest) -> String + Send + Sync + 'static) -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("bound"));
        let (answer, requests) = (Arc::new(answer), Arc::<Mutex<Vec<ModelRequest>>>::default());
        let kept = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, kept) = (answer.clone(), kept.clone());
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream);
                    let Some(request) = read(&mut reader) else { return };
                    kept.lock().push(request.clone());
                    // A client that has read enough, or has given up, closes the connection.
                    let _ = reader.get_mut().write_all(answer(&request).as_bytes());
                });
            }
        });
        ModelServer { url, requests }
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().clone()
    }

    /// Returns the requests so far, and forgets them.
    pub fn take_requests(&self) -> Vec<ModelRequest> {
        std::mem::take(&mut self.requests.lock())
    }

    /// Returns the settings of a project with one model, at this server.
    pub fn settings(&self, name: &str) -> String {
        format!("[nodes]\nmodels.{name} = {{ url = \"{}\", model = \"m\" }}\n", self.url)
    }
}

/// Reads a request; `None` if the connection ends before.
fn read(reader: &mut BufReader<TcpStream>) -> Option<ModelRequest> {
    let (mut length, mut key) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().expect("a length"),
            "authorization" => key = value.trim().trim_start_matches("Bearer ").to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(ModelRequest { key, text: String::from_utf8(body).expect("UTF-8"), at: Instant::now() })
}

/// Returns the bytes of an answer with these header lines.
pub fn answer(status: u16, lines: &str, body: &Value) -> String {
    let body = body.to_string();
    format!("HTTP/1.1 {status} X\r\n{lines}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// Returns the body of a model's answer, of ten tokens in and two out.
pub fn completion(text: &str, finish: &str) -> Value {
    let choice = json!({"message": {"role": "assistant", "content": text}, "finish_reason": finish});
    json!({"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 2}})
}

//! A model endpoint with scripted turns, on loopback. Real coding agents run against it without an account.
//!
//! This module owns the answers and the record. It speaks Anthropic Messages, OpenAI Responses and Chat Completions,
//! and Gemini, streaming or not. Each protocol is one file, which turns a request into a [`Request`] and a [`Reply`]
//! into a body. A conversation's own history determines the next turn (`script`), so a repeated request gets the same
//! answer, and side requests of agents (titles, warm-ups, routers) use up no turn. Start with [`ScriptedModel`].

mod anthropic;
mod chat;
mod conversation;
mod gemini;
mod http;
mod protocols;
mod responses;
mod script;
#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

pub use conversation::{OfferedTool, Protocol, Request, ToolResult, Utterance};
pub use script::{Reply, Script, Turn};

use conversation::instance;
use http::{Incoming, Response};

/// The limit of concurrent connections; further ones are closed without an answer.
const CONNECTIONS: usize = 64;
/// The limit of recorded requests; further ones are refused.
const EXCHANGES: usize = 4096;

/// A request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub method: String,
    /// Includes the query.
    pub path: String,
    /// The request's JSON; null without a body.
    pub body: Value,
    /// The request to the model; `None` for lists of models and the like.
    pub request: Option<Request>,
    /// The model's answer; `None` if nothing was generated.
    pub reply: Option<Reply>,
}

impl Exchange {
    /// Returns one line of a record.
    fn to_json(&self) -> Value {
        let request = self.request.as_ref();
        json!({
            "method": self.method,
            "path": self.path,
            "protocol": request.map(|request| request.protocol.name()),
            "turn": self.reply.as_ref().map(Reply::to_json),
            "tools": request.map(|request| request.tools.iter().map(OfferedTool::to_json).collect::<Vec<_>>()),
            "results": request.map(|request| request.results.iter().map(ToolResult::to_json).collect::<Vec<_>>()),
            "body": self.body,
        })
    }
}

/// A listening endpoint. Dropping it closes the endpoint.
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Script,
    exchanges: Mutex<Vec<Exchange>>,
    record: Mutex<Option<Box<dyn Write + Send>>>,
    connections: AtomicUsize,
    is_stopped: AtomicBool,
}

impl ScriptedModel {
    /// Listens on a free port of 127.0.0.1.
    pub fn start(script: Script) -> std::io::Result<Self> {
        Self::recording(script, None)
    }

    /// Like [`ScriptedModel::start`], and writes each exchange as a line of JSON.
    pub fn recording(script: Script, record: Option<Box<dyn Write + Send>>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script,
            exchanges: Mutex::default(),
            record: Mutex::new(record),
            connections: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                serve(&accepting, stream);
            }
        });
        Ok(Self { address, shared })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the base URL for agents, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the exchanges so far, in order.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.exchanges.lock().clone()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees that it must stop.
        drop(TcpStream::connect(self.address));
    }
}

fn serve(shared: &Arc<Shared>, stream: TcpStream) {
    if shared.connections.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS {
        shared.connections.fetch_sub(1, Ordering::SeqCst);
        return;
    }
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        // An agent that disconnects midway is not a failure of the model.
        let _ = http::exchange(&stream, |incoming| shared.answer(incoming));
        shared.connections.fetch_sub(1, Ordering::SeqCst);
    });
}

impl Shared {
    fn answer(&self, incoming: Incoming) -> Response {
        let body: Value = serde_json::from_slice(&incoming.body).unwrap_or_default();
        let path = incoming.path.split('?').next().unwrap_or_default();
        let request = (incoming.method == "POST").then(|| protocols::request(path, &incoming.path, &body)).flatten();
        let reply = request.as_ref().map(|request| self.script.reply(request));
        let response = match (&request, &reply) {
            (Some(request), Some(reply)) => protocols::response(request, reply),
            _ => answer_other(&incoming.method, path),
        };
        let exchange = Exchange { method: incoming.method, path: incoming.path, body, request, reply };
        if self.keep(exchange) { response } else { Response::error(503, "the record holds 4096 requests and is full") }
    }

    fn keep(&self, exchange: Exchange) -> bool {
        // One lock for both, so that the lines are in the order of the list.
        let mut exchanges = self.exchanges.lock();
        if exchanges.len() >= EXCHANGES {
            return false;
        }
        if let Some(record) = self.record.lock().as_mut() {
            let _ = writeln!(record, "{}", exchange.to_json()).and_then(|()| record.flush());
        }
        exchanges.push(exchange);
        true
    }
}

/// Answers requests that generate nothing.
fn answer_other(method: &str, path: &str) -> Response {
    let last = path.rsplit('/').next().unwrap_or_default();
    match (method, last) {
        ("POST", "count_tokens") => Response::json(&json!({ "input_tokens": 1 })),
        ("POST", last) if last.ends_with(":countTokens") => Response::json(&json!({ "totalTokens": 1 })),
        ("GET", "models") => Response::json(&models()),
        ("GET", id) if path.contains("/models/") => Response::json(&model(id)),
        ("GET" | "HEAD", "" | "health") => Response::json(&instance(&Value::Null)),
        _ => Response::error(404, &format!("the scripted model has no {method} {path}")),
    }
}

/// Returns a list of models in the form of all three providers at once.
fn models() -> Value {
    let one = model("scripted");
    json!({
        "object": "list", "data": [one], "models": [one],
        "has_more": false, "first_id": "scripted", "last_id": "scripted",
    })
}

fn model(id: &str) -> Value {
    json!({
        "id": id, "object": "model", "type": "model", "created": 0, "created_at": "2026-01-01T00:00:00Z",
        "owned_by": "scripted", "display_name": id, "name": format!("models/{id}"), "displayName": id,
        "inputTokenLimit": 1_000_000, "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    })
}

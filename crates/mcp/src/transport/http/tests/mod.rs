//! The server through real sockets, byte by byte.

mod client;
mod hostile;
mod legacy;
mod modern;
mod refused;
mod slow;
mod sse;
mod table;
#[cfg(feature = "websocket")]
mod websocket;

use client::{Client, Request, Served};
use serde_json::{Value, json};

use super::HttpOptions;
use crate::server::tests::everything;

async fn served() -> Served {
    Served::new(everything(), HttpOptions::default()).await
}

fn initialize(version: &str) -> Request {
    let client = json!({"name": "test", "version": "1"});
    let capabilities = json!({"elicitation": {"form": {}}});
    let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
    Request::post(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string())
}

/// Returns the id of a new session.
async fn session(served: &Served, version: &str) -> String {
    let response = served.send(&initialize(version)).await;
    assert_eq!(response.json()["result"]["protocolVersion"], version);
    response.field("mcp-session-id").expect("a session").to_owned()
}

/// Returns a message in a session.
fn in_session(session: &str, message: &Value) -> Request {
    Request::post(message.to_string()).field("mcp-session-id", session)
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

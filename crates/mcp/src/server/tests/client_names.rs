//! A tool's information about the program that calls it.

use serde_json::{Value, json};

use super::client::{Client, text};
use super::faults::build_tool;
use crate::server::{ConnectionOptions, Server, ServerInfo};
use crate::tool::{AnyTool, Outcome};

fn whoami() -> std::sync::Arc<dyn AnyTool> {
    build_tool("whoami", |cx| async move {
        let client = cx.client().map(|client| format!("{} {}", client.name, client.version));
        Ok(Outcome::text(client.unwrap_or_else(|| "nobody".to_owned())))
    })
}

fn connect() -> Client {
    Client::connect(&Server::with_tools(ServerInfo::new("names", "1"), [whoami()]), ConnectionOptions::default())
}

/// Calls `whoami` by a modern request.
async fn call_whoami(client: &mut Client, info: Option<Value>) -> String {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let Some(info) = info {
        meta["io.modelcontextprotocol/clientInfo"] = info;
    }
    let params = json!({"name": "whoami", "_meta": meta});
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await;
    text(&client.next().await).to_owned()
}

async fn handshake(client: &mut Client, info: Value) {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    client.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
    client.next().await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_knows_the_program_of_the_handshake_or_of_the_request() {
    let mut client = connect();
    client.call(1, "whoami", json!({})).await;
    assert_eq!(text(&client.next().await), "nobody");
    handshake(&mut client, json!({"name": "codex", "version": "0.169"})).await;
    client.call(2, "whoami", json!({})).await;
    assert_eq!(text(&client.next().await), "codex 0.169");
    // A request's own word counts for that request.
    assert_eq!(
        call_whoami(&mut client, Some(json!({"name": "claude-code", "version": "2.1"}))).await,
        "claude-code 2.1"
    );
    assert_eq!(
        call_whoami(&mut client, Some(json!({"name": "claude-code", "version": "2.1"}))).await,
        "claude-code 2.1"
    );
    assert_eq!(call_whoami(&mut client, Some(json!({"name": "inspector", "version": "2.12"}))).await, "inspector 2.12");
    assert_eq!(call_whoami(&mut client, None).await, "codex 0.169");
    // Invalid descriptions.
    assert_eq!(call_whoami(&mut client, Some(json!({"name": "bare"}))).await, "bare ");
    assert_eq!(call_whoami(&mut client, Some(json!({"version": "1"}))).await, "nobody");
    assert_eq!(call_whoami(&mut client, Some(json!("a program"))).await, "nobody");
    assert_eq!(
        call_whoami(&mut client, Some(json!({"name": "x".repeat(100_000), "version": "1"}))).await,
        "x".repeat(256) + " 1"
    );
    handshake(&mut client, json!({"version": "1"})).await;
    assert_eq!(call_whoami(&mut client, None).await, "nobody");
}

//! Many calls of one agent wait for messages on one connection.

use std::path::Path;
use std::sync::Arc;

use mail::model::Clock;
use mail::store::memory::MemoryStore;
use mcp::server::{ConnectionOptions, Server, ServerInfo};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::fixture::limits;
use crate::holders::callers;

fn call(id: u64, name: &str, arguments: &Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

#[tokio::test]
async fn sixty_four_calls_that_wait_for_messages_hold_up_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(MemoryStore::new(Clock::system(), limits()));
    let callers = callers(store, "here", dir.path().to_owned()).await;
    let server = Server::with_tools(ServerInfo::new("mail", "1"), mail::tools::tools(&callers));
    let caller = Arc::new(testkit::caller(Path::new("/w/ann"), "ann"));
    let options = ConnectionOptions { caller, ..ConnectionOptions::default() };
    let (client, _) = mcp::transport::memory::connect(&server, options);
    let mut client = BufReader::new(client);
    let mut line = String::new();
    client.write_all(call(0, "register_agent", &json!({"name": "ann", "role": "dev"})).as_bytes()).await.unwrap();
    client.read_line(&mut line).await.unwrap();
    assert!(!line.contains("isError"), "{line}");
    let mut calls: String = (1..=64).map(|id| call(id, "wait_for_message", &json!({"timeout": 600}))).collect();
    calls.push_str(&call(65, "list_agents", &json!({})));
    client.write_all(calls.as_bytes()).await.unwrap();
    line.clear();
    client.read_line(&mut line).await.unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["id"], 65, "{answer}");
    assert!(answer.to_string().contains("ann"), "{answer}");
}

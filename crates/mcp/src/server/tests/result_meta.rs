//! The `_meta` of results for programs, in every revision and through jobs.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::client::Client;
use crate::ResultForm;
use crate::server::{ConnectionOptions, Server, ServerInfo};
use crate::tool::{Context, Effect, Tool, ToolError, tool};

/// Weighs something.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// How many seconds it takes.
    seconds: u64,
}

struct Weigh;

impl Tool for Weigh {
    const NAME: &'static str = "weigh";
    const EFFECT: Effect = Effect::READ;
    const JOB_AFTER: Option<Duration> = Some(Duration::from_secs(5));
    type Args = Args;
    type Output = String;

    async fn call(&self, _: Context, args: Args) -> Result<String, ToolError> {
        tokio::time::sleep(Duration::from_secs(args.seconds)).await; // sleeps: the clock of these tests is paused
        Ok(format!("{} kg", args.seconds))
    }

    fn result_meta(output: &String) -> Option<Map<String, Value>> {
        let ledger = json!({"tokens": output.len()});
        Some(Map::from_iter([
            ("example/ledger".to_owned(), ledger),
            ("io.modelcontextprotocol/serverInfo".to_owned(), json!("another")),
        ]))
    }
}

fn server() -> Server {
    Server::with_tools(ServerInfo::new("scales", "1"), [tool(Weigh)]).jobs()
}

fn ledger() -> Value {
    json!({"tokens": 4})
}

fn request(id: u64, method: &str, mut params: Value, extensions: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": extensions},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test(start_paused = true)]
async fn a_results_meta_reaches_programs_in_every_revision() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let options = ConnectionOptions { result_form: |_| ResultForm::Text, ..ConnectionOptions::default() };
        let mut client = Client::connect(&server(), options);
        let params = json!({"protocolVersion": version, "capabilities": {}});
        client.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        client.next().await;
        client.call(1, "weigh", json!({"seconds": 1})).await;
        let meta = client.next().await["result"]["_meta"].take();
        assert_eq!(meta["example/ledger"], ledger(), "{version}");
    }
    let mut client = Client::connect(&server(), ConnectionOptions::default());
    let params = json!({"name": "weigh", "arguments": {"seconds": 1}});
    client.send(request(1, "tools/call", params, json!({}))).await;
    let meta = client.next().await["result"]["_meta"].take();
    // In addition to the library's members, which no tool can change.
    let expected = json!({
        "io.modelcontextprotocol/serverInfo": {"name": "scales", "version": "1"},
        "example/ledger": ledger(),
    });
    assert_eq!(meta, expected);
}

#[tokio::test(start_paused = true)]
async fn a_results_meta_is_kept_through_jobs() {
    let mut client = Client::connect(&server(), ConnectionOptions::default());
    client.call(1, "weigh", json!({"seconds": 9})).await;
    let running = client.next().await;
    assert!(running["result"].get("_meta").is_none(), "{running}");
    let id = running["result"]["structuredContent"]["job"]["id"].clone();
    client.call(2, "job_wait", json!({"id": id})).await;
    assert_eq!(client.next().await["result"]["_meta"]["example/ledger"], ledger());

    let tasks = json!({"io.modelcontextprotocol/tasks": {}});
    let params = json!({"name": "weigh", "arguments": {"seconds": 9}});
    client.send(request(3, "tools/call", params, tasks.clone())).await;
    let task = client.next().await["result"]["taskId"].clone();
    tokio::time::sleep(Duration::from_secs(9)).await;
    client.send(request(4, "tasks/get", json!({"taskId": task}), tasks)).await;
    assert_eq!(client.next().await["result"]["result"]["_meta"]["example/ledger"], ledger());
}

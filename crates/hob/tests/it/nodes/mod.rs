//! Node files through the real binary, as an agent uses them: a file is a tool, and without a model the agent answers it itself.

mod delegated;
mod edits;
mod hostile;
mod live;
mod outside_links;
mod recorded;
mod secrets;
mod streamed;
mod wrong_use;

use std::io::Write;

use ::nodes::engine::EngineThread;
use serde_json::{Value, json};
use testkit::{McpPeer, until};

const RATE: &str = r#"---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { reason: string ..50, score: integer 1..5 } }
policy: { attempts: 2 }
---
{% block system %}You rate texts.{% endblock %}
{% block user %}{{ text | data }}{% endblock %}
"#;

/// Returns the names of the listed tools.
fn names(peer: &mut McpPeer) -> Vec<String> {
    let listed = peer.result("tools/list", json!({}));
    let tools = listed["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the listed tool of that name.
fn tool(peer: &mut McpPeer, name: &str) -> Option<Value> {
    let listed = peer.result("tools/list", json!({}));
    listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned()
}

/// Returns the version of the node that answers a call.
fn hash(peer: &mut McpPeer, name: &str) -> String {
    let result = peer.result("tools/call", json!({"name": name, "arguments": {"text": "a"}}));
    result["_meta"]["hob/ledger"]["node_hash"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

/// Waits until another version answers, and returns it.
fn other_hash(peer: &mut McpPeer, name: &str, than: &str) -> String {
    until("another version of the node", || Some(hash(peer, name)).filter(|hash| hash != than))
}

/// Starts the offline engine that `cargo xtask setup` installs; `None`, reported as skipped, without it. CI must have it.
fn engine() -> Option<EngineThread> {
    let binary = std::env::current_exe().unwrap();
    let venv = binary.ancestors().nth(3).unwrap().join("tools/llm");
    if venv.join("bin/python").is_file() {
        return Some(EngineThread::start(&venv).unwrap_or_else(|error| panic!("{error}")));
    }
    assert!(std::env::var_os("CI").is_none(), "the offline engine is not installed, and CI must have everything");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {test}: the offline engine is not installed (`cargo xtask setup`)");
    None
}

/// Returns a `hob.toml` with one model at this address.
fn names_model(url: &str) -> String {
    format!("[nodes]\nmodels.engine = {{ url = \"{url}\", model = \"fixed\" }}\n")
}

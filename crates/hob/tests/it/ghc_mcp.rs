//! A session with ghc-mcp's exact protocol, through `hob mcp --profile ghc-mcp`.

use serde_json::{Value, json};
use testkit::{McpPeer, has_program};

use crate::fresh;

/// Returns the text of a result that consists of one text block.
fn text(response: &Value) -> &str {
    let result = response["result"].as_object().unwrap_or_else(|| panic!("not a result: {response}"));
    let blocks = result["content"].as_array().unwrap_or_else(|| panic!("no content: {response}"));
    assert_eq!(blocks.len(), 1, "{response}");
    assert_eq!(blocks[0]["type"], "text", "{response}");
    assert!(!result.contains_key("structuredContent"), "only text: {response}");
    blocks[0]["text"].as_str().unwrap_or_else(|| panic!("no text: {response}"))
}

/// Calls a tool; returns the notifications before the answer, and the answer's text.
fn call(peer: &mut McpPeer, tool: &str, arguments: Value) -> (Vec<Value>, String) {
    let id = peer.start_call(tool, arguments);
    let mut before = Vec::new();
    loop {
        let message = peer.next_message();
        if message["id"] == id {
            return (before, text(&message).to_owned());
        }
        before.push(message);
    }
}

/// Returns the output until the visible prompt, as `(stream, text)`. GHCi may be quicker than the answer to `send`, so output
/// that arrived `before` it counts too.
fn output(peer: &mut McpPeer, before: &[Value], until: &str) -> Vec<(String, String)> {
    let mut early = before.iter().filter(|message| message["method"] == "ghci/output").cloned();
    let mut lines = Vec::new();
    loop {
        let message = early.next().unwrap_or_else(|| peer.notification("ghci/output"));
        let params = &message["params"];
        let field = |name: &str| params[name].as_str().unwrap_or_else(|| panic!("no {name}: {params}")).to_owned();
        lines.push((field("stream"), field("text")));
        if lines.last().is_some_and(|(_, text)| text.ends_with(until)) {
            return lines;
        }
    }
}

#[test]
fn the_conversation_word_for_word() {
    if !has_program("ghci") {
        return;
    }
    let project = fresh();
    let mut peer = project.mcp(&["--profile", "ghc-mcp"]);
    let instructions = peer.initialize()["instructions"].to_string();
    assert!(instructions.contains("send_sync") && !instructions.contains("repl_"), "of tools it has: {instructions}");

    let id = peer.request("tools/list", json!({}));
    let listed = peer.response(id);
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["listen", "read", "send", "send_sync", "start", "status", "stop"]);

    assert_eq!(call(&mut peer, "status", json!({})).1, "GHCi is not running");
    assert_eq!(call(&mut peer, "stop", json!({})).1, "GHCi is not running");
    let (before, answer) = call(&mut peer, "start", json!({}));
    assert_eq!(answer, "Started GHCi");
    if !before.iter().any(|message| message["method"] == "ghci/started") {
        peer.notification("ghci/started");
    }
    assert_eq!(call(&mut peer, "start", json!({})).1, "GHCi is already running");
    assert_eq!(call(&mut peer, "status", json!({})).1, "GHCi is running");
    assert_eq!(call(&mut peer, "listen", json!({})).1, "Listening for GHCi output...");

    let (before, answer) = call(&mut peer, "send", json!({"command": ":t map"}));
    assert_eq!(answer, "Sent command: :t map");
    let sent: Vec<&Value> = before.iter().filter(|message| message["method"] == "ghci/command_sent").collect();
    assert_eq!(sent.len(), 1, "ghci/command_sent comes before the response: {before:#?}");
    assert_eq!(sent[0]["params"], json!({"command": ":t map"}));
    let lines = output(&mut peer, &before, "> ");
    assert!(lines.contains(&("stdout".to_owned(), "map :: (a -> b) -> [a] -> [b]".to_owned())), "{lines:?}");

    let (before, _) = call(&mut peer, "send", json!({"command": "undefinedName"}));
    let lines = output(&mut peer, &before, "> ");
    assert!(
        lines.iter().any(|(stream, text)| stream == "stderr" && text.contains("not in scope: undefinedName")),
        "{lines:?}"
    );

    let (_, answer) = call(&mut peer, "send_sync", json!({"command": "6 * 7", "timeout_ms": 20_000}));
    assert!(answer.contains("42"), "{answer}");
    assert_eq!(call(&mut peer, "stop", json!({})).1, "Stopped GHCi");
    assert_eq!(call(&mut peer, "status", json!({})).1, "GHCi is not running");
}

#[test]
fn a_ghci_that_died_is_told_from_one_that_was_stopped() {
    if !has_program("ghci") {
        return;
    }
    let project = fresh();
    let mut peer = project.mcp(&["--profile", "ghc-mcp"]);
    peer.initialize();
    peer.call("start", json!({}));
    let ghc = project.processes().into_iter().find(|process| process.command.contains("--interactive"));
    testkit::kill_hard(ghc.expect("a GHCi").pid);
    testkit::until("the death to be noticed", || {
        (peer.call("status", json!({})).text == "GHCi process has terminated").then_some(())
    });
    assert_eq!(peer.call("start", json!({})).text, "Started GHCi");
}

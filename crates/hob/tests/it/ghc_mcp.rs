//! ghc-mcp's tools through `hob mcp --profile ghc-mcp`.

use serde_json::json;
use testkit::{has_program, kill_hard, until};

use crate::fresh;

#[test]
fn its_tools_drive_a_ghci_and_tell_one_that_died_from_one_that_was_stopped() {
    if !has_program("ghci") {
        return;
    }
    let project = fresh();
    let mut peer = project.mcp(&["--profile", "ghc-mcp"]);
    let instructions = peer.initialize()["instructions"].to_string();
    assert!(instructions.contains("send_sync") && !instructions.contains("repl_"), "of tools it has: {instructions}");
    let listed = peer.result("tools/list", json!({}));
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["listen", "read", "send", "send_sync", "start", "status", "stop"]);

    let started = peer.call("start", json!({}));
    assert_eq!((&*started.text, started.structured), ("Started GHCi", json!(null)), "only text");
    peer.notification("ghci/started");
    peer.call("listen", json!({}));
    assert_eq!(peer.call("send", json!({"command": "6 * 7"})).text, "Sent command: 6 * 7");
    assert_eq!(peer.notification("ghci/command_sent")["params"], json!({"command": "6 * 7"}));
    assert_eq!(peer.notification("ghci/output")["params"], json!({"stream": "stdout", "text": "42"}));

    let ghc = project.processes().into_iter().find(|process| process.command.contains("--interactive"));
    kill_hard(ghc.expect("a GHCi").pid);
    until("the death to be noticed", || {
        (peer.call("status", json!({})).text == "GHCi process has terminated").then_some(())
    });
    assert_eq!(peer.call("start", json!({})).text, "Started GHCi");
    assert_eq!(peer.call("stop", json!({})).text, "Stopped GHCi");
    assert_eq!(peer.call("status", json!({})).text, "GHCi is not running");
}

//! Agents over HTTP, where the kernel cannot identify callers: an agent's token does, and the common token does not.

use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};
use testkit::Ran;

use super::pushed::{served, token};
use super::{check, send};
use crate::http::{Http, initialize, modern};

fn text(answer: &Value) -> String {
    let blocks = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

fn done(answer: &Value) -> Value {
    assert_ne!(answer["result"]["isError"], true, "{}", text(answer));
    answer["result"]["structuredContent"].clone()
}

/// Checks messages with a stateless request of an agent's run, and returns the new ones and the status.
fn checked(http: &Http, token: &str, run: Option<&str>) -> (Vec<Value>, Value) {
    let (mut lines, message) = modern("check_messages", json!({}));
    lines.extend(run.map(|run| format!("Hob-Run: {run}")));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let checked = done(&http.post_with(token, &lines, &message).json());
    (checked["messages"].as_array().cloned().unwrap_or_default(), checked["status"].clone())
}

#[test]
fn an_agent_s_token_is_that_agent() {
    let (team, http) = served();
    let (planner, reviewer) = (token(&team, "planner"), token(&team, "reviewer"));
    let state = |sent: &Value| {
        let status = done(&http.call(&planner, "delivery_status", json!({"id": sent["message_id"]})));
        status["recipients"][0]["state"].as_str().unwrap().to_owned()
    };
    // Requests of the same agent belong to the same run: one lists the message, the next confirms it. Requests that name
    // their run confirm nothing of another.
    for (run, others) in
        [(None, vec![]), (Some("a"), vec![(&reviewer, Some("b")), (&reviewer, None), (&planner, Some("a"))])]
    {
        let sent = done(&http.call(&planner, "send_message", json!({"to": "reviewer", "content": "by a request"})));
        let (messages, _) = checked(&http, &reviewer, run);
        assert_eq!((&messages[0]["from"], &messages[0]["to"]), (&json!("planner"), &json!(["reviewer"])));
        for (token, run) in others {
            assert_eq!(checked(&http, token, run).1, "empty", "{run:?}");
        }
        for _ in 0..2 {
            assert_eq!(state(&sent), "fetched");
            assert!(checked(&http, &reviewer, run).0.is_empty());
        }
        assert_eq!(state(&sent), "read");
    }
    assert_eq!(done(&http.call(&reviewer, "list_agents", json!({})))["you"], "reviewer");
    // It may change its own description, and nothing of others.
    let itself = json!({"name": "reviewer", "role": "dev", "intent": "reading"});
    assert_eq!(done(&http.call(&reviewer, "register_agent", itself))["status"], "updated");
    let other = text(&http.call(&reviewer, "register_agent", json!({"name": "planner", "role": "dev"})));
    assert!(other.contains("uses the token of the agent reviewer"), "{other}");

    // A session, in the revisions of the protocol that have sessions, is a separate run.
    let answer = http.post_with(&reviewer, &[], &initialize());
    let session = answer.head.lines().find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id:")).unwrap();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(http.post_with(&reviewer, &[session], &initialized).status, 202);
    let call = |tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
        done(&http.post_with(&reviewer, &[session], &call).json())
    };
    send(&mut team.agent("planner"), "@reviewer", "by a process");
    assert_eq!(call("wait_for_message", json!({"timeout": 30}))["message"]["content"], "by a process");
    assert_eq!(checked(&http, &reviewer, None).1, "empty", "it is in the session's hands");
    assert_eq!(call("check_messages", json!({}))["status"], "empty");
    let stolen = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    assert_eq!(http.post_with(&planner, &[session], &stolen).status, 404);
    // The same agent also runs in its worktree; both count as one holder.
    assert!(check(&mut team.agent("reviewer")).is_empty());
    // One private file holds the token, and no log.
    let found = Ran::run(team.project.command("grep").arg("-rl").arg(&planner).arg(team.project.top()));
    let file = found.stdout.trim_end();
    assert!(file.ends_with("agent-tokens/planner.json") && file.contains("/home/"), "one file holds it: {found:?}");
    assert_eq!(std::fs::metadata(file).unwrap().mode() & 0o777, 0o600);
    http.stop(&team.project);
}

#[test]
fn the_token_of_all_is_nobody_s_and_the_answer_says_what_to_do() {
    let (team, http) = served();
    for (tool, arguments) in [
        ("check_messages", json!({})),
        ("wait_for_message", json!({"timeout": 1})),
        ("send_message", json!({"to": "reviewer", "content": "who am I?"})),
        ("broadcast_message", json!({"content": "who am I?"})),
        ("groups", json!({"action": "create", "group": "g"})),
        ("search_messages", json!({"query": "x"})),
        ("register_agent", json!({"name": "somebody", "role": "dev"})),
    ] {
        let answer = http.call(&http.token, tool, arguments);
        let said = text(&answer);
        assert_eq!(answer["result"]["isError"], true, "{tool}: {said}");
        for part in ["planner (\"lead\")", "reviewer (\"dev\")", "hob agents token NAME", "quickstart"] {
            assert!(said.contains(part), "{tool}: {part} is not in {said}");
        }
    }
    // Read-only calls take no name.
    let listed = done(&http.call(&http.token, "list_agents", json!({})));
    assert_eq!((&listed["count"], &listed["you"]), (&json!(3), &Value::Null));
    assert!(check(&mut team.agent("reviewer")).is_empty());
    // A name held elsewhere gets no token either.
    assert_eq!(team.run("tester", &["agents", "token", "planner"]).code, Some(4));
    http.stop(&team.project);
}

//! Agents over HTTP, where the kernel cannot identify callers: an agent's token does, and the common token does not.

use serde_json::{Value, json};

use super::pushed::{served, token};
use super::{check, ok, send};
use crate::http::{Http, initialize, modern};

fn text(answer: &Value) -> String {
    let blocks = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

fn done(answer: Value) -> Value {
    assert_ne!(answer["result"]["isError"], true, "{}", text(&answer));
    answer["result"]["structuredContent"].clone()
}

/// A session, in the protocol revisions that have sessions.
struct HttpSession<'a> {
    http: &'a Http,
    token: &'a str,
    line: String,
}

impl<'a> HttpSession<'a> {
    fn open(http: &'a Http, token: &'a str) -> HttpSession<'a> {
        let answer = http.post_with(token, &[], &initialize());
        assert_eq!(answer.status, 200, "{}", answer.body);
        let mut lines = answer.head.lines();
        let line = lines.find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id:")).unwrap().to_owned();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(http.post_with(token, &[&line], &initialized).status, 202);
        HttpSession { http, token, line }
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments,
        }});
        done(self.http.post_with(self.token, &[&self.line], &call).json())
    }
}

#[test]
fn an_agent_s_token_is_that_agent() {
    let (team, http) = served();
    let (planner, reviewer) = (token(&team, "planner"), token(&team, "reviewer"));
    // With stateless requests.
    let sent = done(http.call(&planner, "send_message", json!({"to": "reviewer", "content": "by a request"})));
    let state = |id: &Value| {
        let status = done(http.call(&planner, "delivery_status", json!({"id": id})));
        status["recipients"][0]["state"].as_str().unwrap().to_owned()
    };
    let got = done(http.call(&reviewer, "check_messages", json!({})));
    assert_eq!((&got["messages"][0]["from"], &got["messages"][0]["to"]), (&json!("planner"), &json!(["reviewer"])));
    assert_eq!(state(&sent["message_id"]), "fetched");
    // Later requests of the same agent belong to the same run: one lists the message, the next confirms it.
    assert_eq!(done(http.call(&reviewer, "check_messages", json!({})))["earlier"].as_array().unwrap().len(), 1);
    assert_eq!(done(http.call(&reviewer, "check_messages", json!({})))["status"], "empty");
    assert_eq!(state(&sent["message_id"]), "read");
    assert_eq!(done(http.call(&reviewer, "list_agents", json!({})))["you"], "reviewer");
    // With a session, which is a separate run.
    let session = HttpSession::open(&http, &reviewer);
    send(&mut team.agent("planner"), "@reviewer", "by a process");
    assert_eq!(session.call("wait_for_message", json!({"timeout": 30}))["message"]["content"], "by a process");
    assert_eq!(
        done(http.call(&reviewer, "check_messages", json!({})))["status"],
        "empty",
        "it is in the session's hands"
    );
    assert_eq!(session.call("check_messages", json!({}))["status"], "empty");
    let stolen = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    assert_eq!(http.post_with(&planner, &[&session.line], &stolen).status, 404);
    // The same agent also runs in its worktree; both count as one holder.
    assert!(check(&mut team.agent("reviewer")).is_empty());
    // It may change its own description, and nothing of others.
    let itself = json!({"name": "reviewer", "role": "dev", "intent": "reading"});
    assert_eq!(done(http.call(&reviewer, "register_agent", itself))["status"], "updated");
    let other = text(&http.call(&reviewer, "register_agent", json!({"name": "planner", "role": "dev"})));
    assert!(other.contains("uses the token of the agent reviewer"), "{other}");
    http.stop(&team.project);
}

#[test]
fn requests_that_say_their_run_confirm_nothing_of_another() {
    let (team, http) = served();
    let (planner, reviewer) = (token(&team, "planner"), token(&team, "reviewer"));
    let call = |token: &str, run: &str, tool: &str, arguments: Value| {
        let (mut lines, message) = modern(tool, arguments);
        lines.push(format!("Hob-Run: {run}"));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        done(http.post_with(token, &lines, &message).json())
    };
    let sent = call(&planner, "a", "send_message", json!({"to": "reviewer", "content": "for a run"}));
    let state = || {
        let status = call(&planner, "a", "delivery_status", json!({"id": sent["message_id"]}));
        status["recipients"][0]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(call(&reviewer, "a", "check_messages", json!({}))["messages"][0]["content"], "for a run");
    // A restarted client, a client without an id, and another agent with the same id.
    assert_eq!(call(&reviewer, "b", "check_messages", json!({}))["status"], "empty");
    assert_eq!(done(http.call(&reviewer, "check_messages", json!({})))["status"], "empty");
    assert_eq!(call(&planner, "a", "check_messages", json!({}))["status"], "empty");
    for before in ["fetched", "fetched"] {
        assert_eq!(state(), before);
        let checked = call(&reviewer, "a", "check_messages", json!({}));
        assert!(checked["messages"].as_array().is_none_or(Vec::is_empty), "{checked}");
    }
    assert_eq!(state(), "read");
    http.stop(&team.project);
}

#[test]
fn the_token_of_all_is_nobody_s_and_the_answer_says_what_to_do() {
    let (team, http) = served();
    let all = http.token.clone();
    for (tool, arguments) in [
        ("check_messages", json!({})),
        ("wait_for_message", json!({"timeout": 1})),
        ("send_message", json!({"to": "reviewer", "content": "who am I?"})),
        ("broadcast_message", json!({"content": "who am I?"})),
        ("groups", json!({"action": "create", "group": "g"})),
        ("search_messages", json!({"query": "x"})),
        ("register_agent", json!({"name": "somebody", "role": "dev"})),
    ] {
        let answer = http.call(&all, tool, arguments);
        let said = text(&answer);
        assert_eq!(answer["result"]["isError"], true, "{tool}: {said}");
        for part in
            ["planner (\"lead\")", "reviewer (\"dev\")", "tester (\"dev\")", "hob agents token NAME", "quickstart"]
        {
            assert!(said.contains(part), "{tool}: {part} is not in {said}");
        }
    }
    // Read-only calls take no name.
    let listed = done(http.call(&all, "list_agents", json!({})));
    assert_eq!((&listed["count"], &listed["you"]), (&json!(3), &Value::Null));
    assert_eq!(done(http.call(&all, "groups", json!({"action": "list"})))["groups"][0]["name"], "everyone");
    assert!(check(&mut team.agent("reviewer")).is_empty());
    // A name held elsewhere gets no token either.
    let ran = testkit::Ran::run(&mut team.command("tester", &["agents", "token", "planner"]));
    assert!(ran.code == Some(4) && ran.stderr.contains("belongs to") && ran.stdout.is_empty(), "{ran:?}");
    let ran = testkit::Ran::run(&mut team.command("tester", &["agents", "token", "nobody"]));
    assert!(ran.code == Some(4) && ran.stderr.contains("quickstart") && ran.stdout.is_empty(), "{ran:?}");
    http.stop(&team.project);
}

#[test]
fn a_token_is_kept_from_others_and_from_the_log() {
    use std::os::unix::fs::MetadataExt;
    let (team, http) = served();
    let planner = token(&team, "planner");
    ok(&mut team.agent("planner"), "check_messages", json!({}));
    done(http.call(&planner, "check_messages", json!({})));
    let found = std::process::Command::new("grep").arg("-rl").arg(&planner).arg(team.project.top()).output().unwrap();
    let files = String::from_utf8(found.stdout).unwrap();
    let file = files.trim_end();
    assert!(file.ends_with("agent-tokens/planner.json") && file.contains("/home/"), "one file holds it: {files}");
    assert_eq!(std::fs::metadata(file).unwrap().mode() & 0o777, 0o600);
    http.stop(&team.project);
}

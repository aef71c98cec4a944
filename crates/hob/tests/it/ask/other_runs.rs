//! Other runs and processes, with the real programs: an answer reaches only its own run, and no dialog of another process can
//! answer.

use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{TestProject, kill_hard, until};

use super::races::Person;
use super::{agent, agent_as, watching};
use crate::fresh;

/// Returns the id of the latest question.
pub(super) fn latest(project: &TestProject) -> String {
    let all: Value = serde_json::from_str(&project.run(["questions", "--all", "--json"]).ok()).unwrap();
    all[0]["question"].as_str().unwrap().to_owned()
}

#[test]
fn one_yes_serves_one_run() {
    let project = fresh();
    let arguments = json!({"action": "Deploy to production", "danger": "high"});
    let mut first = agent(&project);
    first.call("confirm_action", arguments.clone());
    project.run(["answer", "--yes"]).ok();
    let mut confirmed = vec![first.call("confirm_action", arguments.clone()).structured["confirmed"] == true];
    drop(first);
    for start in 0..6 {
        if start % 2 == 1 {
            kill_hard(project.daemon_pid().unwrap());
        }
        let result = agent(&project).call("confirm_action", arguments.clone());
        assert!(result.text.contains(", and tester said yes, with `hob answer`, at "), "{result:?}");
        confirmed.push(result.structured["confirmed"] == true);
    }
    assert_eq!(confirmed, [true, false, false, false, false, false, false]);
    // A script's answer goes to the script that asked, or to the first one that waits for it by id.
    assert_eq!(project.run(["ask", "confirm", "Deploy?", "--wait", "0"]).code, Some(6));
    let id = latest(&project);
    project.run(["answer", &id, "--yes"]).ok();
    assert_eq!(project.run(["ask", "confirm", "Deploy?"]).code, Some(8));
    let codes = [(); 3].map(|()| project.run(["ask", "wait", &id]).code);
    assert_eq!(codes, [Some(0), Some(6), Some(6)]);
}

/// A client on the socket that claims to support dialogs, and answers all of them with yes.
fn says_yes(project: &TestProject, role: &str, tool: &str, arguments: &Value) {
    let mut client = Person::connect_as(project, role).unwrap();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}});
    client.request("initialize", hello).unwrap();
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.send(
        &json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}),
    );
    loop {
        let message = client.read().unwrap();
        if message["method"] == "elicitation/create" {
            let yes = json!({"action": "accept", "content": {"confirm": "yes"}});
            client.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": yes}));
        } else if message["id"] == 77 {
            break;
        }
    }
    // Methods of the command line are refused on an agent's connection too.
    if role == "mcp" {
        let refused = client.request("ask/answer", json!({"yes": true})).unwrap();
        assert!(refused["error"].is_object(), "{refused}");
    }
}

#[test]
fn the_dialog_of_another_process_does_not_answer_a_script() {
    let project = fresh();
    // This starts the daemon.
    let _agent = agent(&project);
    let mut watch = project.hob(["questions", "--watch"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the face is known", || (watching(&project) == 1).then_some(()));
    let script =
        project.hob(["ask", "confirm", "Deploy?"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until("it is asked", || project.run(["questions"]).stdout.contains("Deploy?").then_some(()));
    let id = latest(&project);
    let beginning = &id[..5];
    for role in ["control", "mcp"] {
        for (tool, arguments) in [
            ("ask_wait", json!({"question": id, "wait_s": 1})),
            ("ask_wait", json!({"question": beginning, "wait_s": 1})),
            ("confirm_action", json!({"action": "Deploy?", "wait_s": 1})),
        ] {
            says_yes(&project, role, tool, &arguments);
            let open: Value = serde_json::from_str(&project.run(["questions", "--json"]).ok()).unwrap();
            let is_open = open.as_array().unwrap().iter().any(|question| question["question"] == json!(id));
            assert!(is_open, "{role}, {tool} {arguments}: {open}");
        }
    }
    project.run(["answer", &id, "--no"]).ok();
    let ran = script.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(7), "{ran:?}");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn two_agents_of_a_worktree_are_told_apart() {
    let project = fresh();
    let mut agents = ["alice", "bob"].map(|name| {
        let mut agent = agent_as(&project, &["ask,mail"]);
        agent.call("register_agent", json!({"name": name, "role": "test"}));
        agent
    });
    for agent in &mut agents {
        agent.call("confirm_action", json!({"action": "Push?", "wait_s": 0}));
    }
    let listed = || -> Vec<String> {
        let open: Value = serde_json::from_str(&project.run(["questions", "--json"]).ok()).unwrap();
        let open = open.as_array().unwrap().iter();
        open.map(|question| question["agent"].as_str().unwrap_or("nobody").to_owned()).collect()
    };
    assert_eq!(listed(), ["alice", "bob"]);
    // The same if a new daemon has not heard of their mail yet.
    kill_hard(project.daemon_pid().unwrap());
    for agent in &mut agents {
        agent.call("confirm_action", json!({"action": "Tag?", "wait_s": 0}));
    }
    assert_eq!(listed(), ["alice", "bob", "alice", "bob"]);
    let shown = project.run(["questions"]).ok();
    assert!(shown.contains("from alice in ") && shown.contains("from bob in "), "{shown}");
}

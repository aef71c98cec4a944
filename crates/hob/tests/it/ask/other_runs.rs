//! Other runs and processes, with the real programs: an answer reaches only its own run, and no dialog of another process can
//! answer.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{McpPeer, TestProject, kill_hard};

use super::{Watcher, agent, agent_as, all_questions, await_question};
use crate::fresh;

#[test]
fn one_yes_serves_one_run_and_two_agents_of_a_worktree_are_told_apart() {
    let project = fresh();
    let mut agents = ["bob", "alice"].map(|name| {
        let mut agent = agent_as(&project, &["ask,mail"]);
        agent.call("register_agent", json!({"name": name, "role": "test"}));
        agent
    });
    // A new daemon has not heard of their mail yet.
    kill_hard(project.daemon_pid().unwrap());
    let arguments = json!({"action": "Deploy to production", "danger": "high", "wait_s": 0});
    let ask = |agent: &mut McpPeer| agent.call("confirm_action", arguments.clone());
    let ids = agents.each_mut().map(|agent| ask(agent).structured["question"].as_str().unwrap().to_owned());
    let shown = project.run(["questions"]).ok();
    assert!(shown.contains("from alice in ") && shown.contains("from bob in "), "{shown}");
    project.run(["answer", &ids[1], "--yes"]).ok();
    kill_hard(project.daemon_pid().unwrap());
    assert_eq!(agents.each_mut().map(|agent| ask(agent).structured["confirmed"] == true), [false, true]);
    drop(agents);
    for kills in [false, true] {
        if kills {
            kill_hard(project.daemon_pid().unwrap());
        }
        let result = ask(&mut agent(&project));
        assert!(result.text.contains(", and tester said yes, with `hob answer`, at "), "{result:?}");
        assert_eq!(result.structured["confirmed"], false);
    }
}

/// A process at the daemon's socket that claims a role, and answers every dialog with yes.
pub(super) struct Impostor {
    stream: BufReader<UnixStream>,
    last: u64,
}

impl Impostor {
    pub(super) fn connect(project: &TestProject, role: &str) -> Impostor {
        let status: Value = serde_json::from_str(&project.run(["status", "--json"]).ok()).unwrap();
        let stream = UnixStream::connect(status["daemon"]["socket"].as_str().unwrap()).unwrap();
        let mut impostor = Impostor { stream: BufReader::new(stream), last: 0 };
        let root = project.root();
        impostor.send(&json!({"hob": 1, "role": role, "cwd": root, "worktree": root, "version": "test"}));
        assert_eq!(impostor.read()["ok"], true);
        impostor
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stream.get_mut(), "{message}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and returns its response.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        loop {
            let message = self.read();
            if message["method"] == "elicitation/create" {
                let yes = json!({"action": "accept", "content": {"confirm": "yes"}});
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": yes}));
            } else if message["id"] == self.last {
                return message;
            }
        }
    }
}

#[test]
fn the_dialog_of_another_process_does_not_answer_a_script() {
    let project = fresh();
    // This starts the daemon.
    let _agent = agent(&project);
    let _watcher = Watcher::start(&project, Stdio::null());
    let mut script = project.hob(["ask", "confirm", "Deploy?"]);
    let mut script = script.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let id = await_question(&project, "Deploy?");
    for role in ["control", "mcp"] {
        for (tool, arguments) in [
            ("ask_wait", json!({"question": id, "wait_s": 1})),
            ("ask_wait", json!({"question": id[..5], "wait_s": 1})),
            ("confirm_action", json!({"action": "Deploy?", "wait_s": 1})),
        ] {
            let mut impostor = Impostor::connect(&project, role);
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}});
            impostor.request("initialize", hello);
            impostor.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            impostor.request("tools/call", json!({"name": tool, "arguments": arguments}));
            // Methods of the command line are refused on an agent's connection too.
            if role == "mcp" {
                assert!(impostor.request("ask/answer", json!({"yes": true}))["error"].is_object());
            }
            let all = all_questions(&project);
            let question = all.as_array().unwrap().iter().find(|question| question["question"] == *id).unwrap();
            assert_eq!(question["open"], true, "{role}, {tool} {arguments}: {all}");
        }
    }
    project.run(["answer", &id, "--no"]).ok();
    assert_eq!(script.wait().unwrap().code(), Some(7));
}

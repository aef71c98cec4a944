//! Agents that exchange mail: real front-ends in real worktrees of one repository. The tests of `crates/mail` cover the mail
//! itself. These cover what needs processes: worktrees, kills, restarts, commands, HTTP, and daemons that share a database.
//!
//! Here: the team, and helpers for conversations. `holders.rs` tests who may use a name, `over_http.rs` agents with tokens,
//! `pushed.rs` subscriptions, `survival.rs` killed processes, `kills.rs` kills under load, `machines.rs` two daemons with one
//! database, and `odd_locations.rs` the location of a project's mail.

mod failures;
mod holders;
mod hostile;
mod kills;
mod machines;
mod odd_locations;
mod over_http;
mod person_mail;
mod pushed;
mod survival;

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Answer, McpPeer, Ran, TestProject, until};

use crate::fresh;

/// A project with a worktree for each agent.
struct Team {
    project: TestProject,
}

impl Team {
    /// Creates the agents `planner` (role `lead`), `reviewer` and `tester` (both `dev`).
    fn new() -> Team {
        let team = Team { project: fresh() };
        git(&team.project, &["init", "-q", "."]);
        let user = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        git(&team.project, &[&user[..], &["commit", "-q", "--allow-empty", "-m", "1"]].concat());
        for (name, role) in [("planner", "lead"), ("reviewer", "dev"), ("tester", "dev")] {
            git(&team.project, &["worktree", "add", "-q", &format!("../{name}")]);
            team.hob(name, &["quickstart", "--name", name, "--role", role]);
        }
        team
    }

    /// Returns the worktree of an agent.
    fn dir(&self, name: &str) -> PathBuf {
        self.project.top().join(name)
    }

    /// Builds a hob command in an agent's worktree.
    fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = self.project.hob(args);
        command.current_dir(self.dir(name));
        command
    }

    fn run(&self, name: &str, args: &[&str]) -> Ran {
        Ran::run(&mut self.command(name, args))
    }

    /// Runs a command that must succeed.
    fn hob(&self, name: &str, args: &[&str]) -> String {
        self.run(name, args).ok()
    }

    /// Starts an agent with the eleven tools, under its name, in its worktree.
    fn agent(&self, name: &str) -> McpPeer {
        self.agent_with(name, &["--profile", "thrum", "--as", name])
    }

    fn agent_with(&self, name: &str, args: &[&str]) -> McpPeer {
        let mut peer = McpPeer::spawn(self.command(name, &[&["mcp"], args].concat()));
        peer.initialize();
        peer
    }
}

/// Kills the daemon if it runs.
fn kill_daemon(project: &TestProject) {
    project.daemon_pid().into_iter().for_each(testkit::kill_hard);
}

fn git(project: &TestProject, args: &[&str]) {
    assert!(project.command("git").args(args).status().unwrap().success(), "git {args:?}");
}

/// Calls a tool that must succeed, and returns its full text.
fn ok(peer: &mut McpPeer, tool: &str, arguments: Value) -> Value {
    let Answer { text, structured, is_error } = peer.call(tool, arguments);
    assert!(!is_error, "{tool}: {text}");
    structured
}

/// Calls a tool that must fail, and returns its text.
fn refused(peer: &mut McpPeer, tool: &str, arguments: Value) -> String {
    let answer = peer.call(tool, arguments);
    assert!(answer.is_error, "{tool}: {}", answer.text);
    answer.text
}

fn send(peer: &mut McpPeer, to: &str, content: &str) -> String {
    ok(peer, "send_message", json!({"to": to, "content": content}))["message_id"].as_str().unwrap().to_owned()
}

/// Sends right after the daemon was killed. A call that the daemon had accepted cannot be repeated unless it has a key.
fn send_after_a_death(peer: &mut McpPeer, to: &str, content: &str) -> String {
    let call = json!({"to": to, "content": content, "idempotency_key": content});
    ok(peer, "send_message", call)["message_id"].as_str().unwrap().to_owned()
}

/// Starts to wait, and returns once the daemon has received the call.
fn start_waiting(peer: &mut McpPeer, filter: &str) -> i64 {
    let id = peer.start_call("wait_for_message", json!({"timeout": 60, "priority_filter": filter}));
    let ping = peer.request("ping", json!({}));
    peer.response(ping);
    id
}

/// Returns the message that ends a wait.
fn woken(peer: &mut McpPeer, waiting: i64) -> Value {
    let woken = peer.answer(waiting).structured;
    assert_eq!(woken["status"], "message_received", "{woken}");
    woken["message"].clone()
}

/// Returns the contents of the waiting messages.
fn check(peer: &mut McpPeer) -> Vec<String> {
    let checked = ok(peer, "check_messages", json!({}));
    let messages = checked["messages"].as_array().unwrap();
    assert_eq!(checked["status"], if messages.is_empty() { "empty" } else { "messages" });
    messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn two_agents_talk() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    ok(&mut planner, "create_group", json!({"name": "backend", "description": "the server"}));
    ok(&mut planner, "add_group_member", json!({"group": "backend", "member_type": "role", "member_id": "dev"}));
    for to in ["@reviewer", "agent:reviewer", "role:dev", "everyone", "@backend"] {
        let waiting = start_waiting(&mut reviewer, "all");
        let id = send(&mut planner, to, to);
        let woken = woken(&mut reviewer, waiting);
        assert_eq!((&woken["message_id"], &woken["from"]), (&json!(id), &json!("planner")));
        assert_eq!((&woken["content"], &woken["to"]), (&json!(to), &json!([to])));
    }
    let waiting = start_waiting(&mut reviewer, "high_and_above");
    send(&mut planner, "reviewer", "is it fine?");
    let urgent = json!({"to": "reviewer", "content": "urgent", "priority": "high"});
    ok(&mut planner, "send_message", urgent);
    assert_eq!(woken(&mut reviewer, waiting)["content"], "urgent");
    let question = ok(&mut reviewer, "check_messages", json!({}))["messages"][0]["message_id"].clone();
    let waiting = start_waiting(&mut planner, "all");
    ok(&mut reviewer, "send_message", json!({"to": "planner", "content": "it is", "reply_to": question}));
    let reply = woken(&mut planner, waiting);
    assert_eq!((&reply["reply_to"], &reply["thread"]), (&question, &question));
    let thread = team.hob("planner", &["thread", question.as_str().unwrap()]);
    let (asked, answered) = (thread.find("| is it fine?").unwrap(), thread.find("| it is").unwrap());
    assert!(asked < answered, "{thread}");
}

/// `crates/mail/tests/it/agent_names.rs` tests when there is a hint.
#[test]
fn waiting_mail_is_told_beside_the_results_of_other_tools() {
    let team = Team::new();
    team.hob("planner", &["send", "one", "--to", "reviewer"]);
    let mut without_mail = team.agent_with("reviewer", &["repl"]);
    ok(&mut without_mail, "repl_start", json!({"profile": "bash"}));
    let result = |peer: &mut McpPeer| peer.call("repl_eval", json!({"code": "echo own"})).text;
    // It has not used the mail yet: its worktree identifies it. Counting starts with the connection.
    let told = "1 message waits for reviewer, from planner: check_messages takes them.\n";
    until("a hint with a first result", || {
        result(&mut team.agent_with("reviewer", &[])).starts_with(told).then_some(())
    });
    // The text of an imitated system is not changed.
    let mut imitating = team.agent("reviewer");
    for _ in 0..5 {
        assert!(result(&mut without_mail).starts_with("own\n"));
        assert!(!imitating.call("list_agents", json!({})).text.contains("waits for reviewer"));
    }
}

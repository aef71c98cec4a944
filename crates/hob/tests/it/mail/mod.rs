//! Agents that exchange mail: real front-ends in real worktrees of one repository.
//!
//! Here: the team, and helpers for conversations. `known_faults.rs` tests each known fault of the previous system, `holders.rs` who may
//! use a name, `over_http.rs` agents with tokens, `person_mail.rs` the person's own mail, `pushed.rs` subscriptions, `hints.rs` hints in results, `hostile.rs` hostile texts,
//! `survival.rs` killed processes, `failures.rs` full disks and broken stores, `clock.rs` a clock that jumps, and `odd_locations.rs` names and
//! locations of projects. `load.rs` is the load for `kills.rs` with one daemon, and for `machines.rs` with two daemons and one database.

mod clock;
mod failures;
mod hints;
mod holders;
mod hostile;
mod kills;
mod known_faults;
mod load;
mod machines;
mod odd_locations;
mod over_http;
mod person_mail;
mod pushed;
mod survival;

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Answer, McpPeer, TestProject};

use crate::fresh;

/// A project with a worktree for each agent.
struct Team {
    project: TestProject,
}

impl Team {
    /// Creates the agents `planner` (role `lead`), `reviewer` and `tester` (both `dev`).
    fn new() -> Team {
        let team = Team::without_agents();
        for (name, role) in [("planner", "lead"), ("reviewer", "dev"), ("tester", "dev")] {
            team.hob(name, &["quickstart", "--name", name, "--role", role]);
        }
        team
    }

    fn without_agents() -> Team {
        let team = Team { project: fresh() };
        team.git(&["init", "-q", "."]);
        team.git(&["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "1"]);
        for name in ["planner", "reviewer", "tester"] {
            team.git(&["worktree", "add", "-q", &format!("../{name}")]);
        }
        team
    }

    fn git(&self, args: &[&str]) {
        assert!(self.project.command("git").args(args).status().unwrap().success(), "git {args:?}");
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

    /// Runs a command that must succeed.
    fn hob(&self, name: &str, args: &[&str]) -> String {
        testkit::Ran::run(&mut self.command(name, args)).ok()
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

/// Returns the contents of the waiting messages.
fn check(peer: &mut McpPeer) -> Vec<String> {
    let checked = ok(peer, "check_messages", json!({}));
    let messages = checked["messages"].as_array().unwrap();
    assert_eq!(checked["status"], if messages.is_empty() { "empty" } else { "messages" });
    messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_profile_thrum_is_exactly_its_eleven_tools() {
    let team = Team::without_agents();
    let mut peer = team.agent("planner");
    let id = peer.request("tools/list", json!({}));
    let tools = peer.response(id)["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "add_group_member",
            "broadcast_message",
            "check_messages",
            "create_group",
            "delete_group",
            "get_group",
            "list_agents",
            "list_groups",
            "remove_group_member",
            "send_message",
            "wait_for_message",
        ]
    );
}

#[test]
fn two_agents_talk() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    for to in ["@reviewer", "reviewer", "agent:reviewer", "@dev", "role:dev", "everyone", "@backend", "group:backend"] {
        if to == "@backend" {
            ok(&mut planner, "create_group", json!({"name": "backend", "description": "the server"}));
            let member = json!({"group": "backend", "member_type": "role", "member_id": "dev"});
            assert_eq!(ok(&mut planner, "add_group_member", member)["status"], "added");
        }
        let waiting = start_waiting(&mut reviewer, "all");
        let id = send(&mut planner, to, &format!("to {to}"));
        let woken = reviewer.answer(waiting).structured;
        assert_eq!(woken["status"], "message_received", "{to}: {woken}");
        assert_eq!(woken["message"]["content"], format!("to {to}"));
        assert_eq!((&woken["message"]["message_id"], &woken["message"]["from"]), (&json!(id), &json!("planner")));
        assert_eq!(woken["message"]["to"], json!([to]));
    }
    let question = send(&mut planner, "reviewer", "is it fine?");
    let waiting = start_waiting(&mut planner, "all");
    let reply = json!({"to": "planner", "content": "it is", "reply_to": question});
    let sent = ok(&mut reviewer, "send_message", reply);
    assert_eq!(sent["thread"], question);
    let woken = planner.answer(waiting).structured;
    assert_eq!((&woken["message"]["reply_to"], &woken["message"]["thread"]), (&json!(question), &json!(question)));
    let thread = team.hob("planner", &["thread", &question]);
    let (asked, answered) = (thread.find("| is it fine?").unwrap(), thread.find("| it is").unwrap());
    assert!(asked < answered, "{thread}");
}

#[test]
fn what_is_found_is_shown_by_a_command() {
    let team = Team::new();
    let id = team.hob("planner", &["send", "get_thread is a word of mine", "--to", "reviewer"]);
    let found = team.hob("planner", &["search", "word"]);
    let (first, rest) = found.split_once('\n').unwrap();
    assert!(
        first.contains("`hob thread ID` shows the full text") && rest.contains("get_thread is a word"),
        "{id}{found}"
    );
}

#[test]
fn no_name_looks_like_an_option() {
    let team = Team::without_agents();
    for args in [&["quickstart", "--name=-x", "--role", "lead"][..], &["inbox", "--as=-x"]] {
        let ran = testkit::Ran::run(&mut team.command("planner", args));
        assert_ne!(ran.code, Some(0), "{ran:#?}");
        assert!(ran.stderr.contains("Invalid name \"-x\" for an agent: it begins with `-`"), "{}", ran.stderr);
    }
}

#[test]
fn urgency_orders_and_the_floor_holds() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    let say = |peer: &mut McpPeer, priority: &str| {
        ok(peer, "send_message", json!({"to": "reviewer", "content": priority, "priority": priority}));
    };
    ["low", "normal", "critical", "high"].iter().for_each(|priority| say(&mut planner, priority));
    assert_eq!(check(&mut reviewer), ["critical", "high", "normal", "low"]);
    assert!(check(&mut reviewer).is_empty());
    for (filter, below, above) in
        [("critical", "high", "critical"), ("high_and_above", "normal", "high"), ("normal_and_above", "low", "normal")]
    {
        let waiting = start_waiting(&mut reviewer, filter);
        say(&mut planner, below);
        say(&mut planner, above);
        let woken = reviewer.answer(waiting).structured;
        assert_eq!((&woken["message"]["priority"], &woken["below_filter"]), (&json!(above), &json!(1)), "{woken}");
        assert_eq!(check(&mut reviewer), [below]);
    }
    say(&mut planner, "low");
    let none = ok(&mut reviewer, "wait_for_message", json!({"timeout": 0, "priority_filter": "high_and_above"}));
    assert_eq!((&none["status"], &none["below_filter"]), (&json!("timeout"), &json!(1)));
}

#[test]
fn what_remains_is_counted_and_a_limit_holds() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    (0..5).for_each(|n| _ = send(&mut planner, "reviewer", &n.to_string()));
    let first = ok(&mut reviewer, "check_messages", json!({"limit": 2}));
    assert_eq!((first["messages"].as_array().unwrap().len(), &first["remaining"]), (2, &json!(3)));
    let looked = ok(&mut reviewer, "wait_for_message", json!({"timeout": 0, "after": 1, "max": 10}));
    assert_eq!(looked["messages"].as_array().unwrap().len(), 4, "looking takes nothing, read or not");
    assert_eq!(check(&mut reviewer), ["2", "3", "4"]);
    // One answer has a size limit; the rest follows in the next.
    let long = "x".repeat(100 * 1024);
    (0..3).for_each(|_| _ = send(&mut planner, "reviewer", &long));
    let parts: Vec<usize> = (0..3).map(|_| check(&mut reviewer).len()).collect();
    assert_eq!(parts, [1, 1, 1]);
}

#[test]
fn changes_of_a_group_leave_the_past_alone() {
    let team = Team::new();
    let (mut planner, mut reviewer, mut tester) = (team.agent("planner"), team.agent("reviewer"), team.agent("tester"));
    ok(&mut planner, "create_group", json!({"name": "g"}));
    let member = |id: &str| json!({"group": "g", "member_type": "agent", "member_id": id});
    ok(&mut planner, "add_group_member", member("reviewer"));
    send(&mut planner, "g", "for the first");
    ok(&mut planner, "remove_group_member", member("reviewer"));
    ok(&mut planner, "add_group_member", member("tester"));
    send(&mut planner, "g", "for the second");
    ok(&mut planner, "delete_group", json!({"name": "g"}));
    assert_eq!(check(&mut reviewer), ["for the first"]);
    assert_eq!(check(&mut tester), ["for the second"]);
    assert!(refused(&mut planner, "delete_group", json!({"name": "everyone"})).contains("protected"));
}

#[test]
fn a_message_s_way_is_on_record_with_times() {
    let team = Team::new();
    let mut planner = team.agent_with("planner", &["mail"]);
    let mut reviewer = team.agent_with("reviewer", &["mail"]);
    let id = send(&mut planner, "role:dev", "review it");
    let of = |peer: &mut McpPeer, name: &str| {
        let status = ok(peer, "delivery_status", json!({"id": id}));
        let recipients = status["recipients"].as_array().unwrap().clone();
        recipients.into_iter().find(|recipient| recipient["name"] == name).unwrap()
    };
    assert_eq!(of(&mut planner, "reviewer")["state"], "stored");
    check(&mut reviewer);
    assert_eq!(of(&mut planner, "reviewer")["state"], "fetched");
    // This check repeats it, and the next one confirms it.
    check(&mut reviewer);
    assert_eq!(of(&mut planner, "reviewer")["state"], "fetched");
    check(&mut reviewer);
    assert_eq!(of(&mut planner, "reviewer")["state"], "read");
    let acked = ok(&mut reviewer, "ack_message", json!({"ids": [id], "note": "merged"}));
    assert_eq!(acked["results"][0]["state"], "acked");
    let last = of(&mut planner, "reviewer");
    assert_eq!((&last["state"], &last["note"], &last["attempts"]), (&json!("acked"), &json!("merged"), &json!(1)));
    let times: Vec<&str> =
        ["stored_at", "fetched_at", "read_at", "settled_at"].map(|at| last[at].as_str().unwrap()).into();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(of(&mut planner, "tester")["state"], "stored");
    // An agent that is not a recipient cannot see the message.
    send(&mut planner, "reviewer", "a secret");
    let mut tester = team.agent_with("tester", &["mail"]);
    let found = ok(&mut tester, "search_messages", json!({"query": "secret"}));
    assert_eq!(found["hits"], json!([]));
}

#[test]
fn the_first_minute_of_the_page_goes_as_it_says() {
    let page = include_str!("../../../../../docs/guide/mail.md");
    let minute = page.split("\n## ").find(|section| section.contains("in one minute")).unwrap();
    let mut blocks = minute.split("```");
    let mut script = "set -e\n".to_owned();
    while let (Some(_), Some(block)) = (blocks.next(), blocks.next()) {
        script.push_str(block.strip_prefix("sh\n").unwrap());
    }
    let project = fresh();
    project.write("CLAUDE.md", "# Ours\n");
    assert!(project.command("git").args(["init", "-q", "."]).status().unwrap().success());
    let mut command = project.command("bash");
    command.args(["-c", &script]).envs([("GIT_AUTHOR_NAME", "t"), ("GIT_AUTHOR_EMAIL", "t@example.org")]);
    command.envs([("GIT_COMMITTER_NAME", "t"), ("GIT_COMMITTER_EMAIL", "t@example.org")]);
    let said = testkit::Ran::run(&mut command).ok();
    for part in ["registered: planner (lead)", "| The parser is ready.", "reviewer (dev, you): offline", "1 unread"] {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
    let review = project.top().join("review");
    assert!(review.join(".mcp.json").exists(), "hob is not registered in the other worktree");
}

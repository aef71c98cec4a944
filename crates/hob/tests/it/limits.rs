//! Each limit is reached once: the error names the limit and its setting, and nothing is dropped silently.

use serde_json::json;
use testkit::{McpPeer, TestProject, has_program, until};

use crate::fresh;

/// Creates a project with one low limit, and a client.
fn limited(setting: &str) -> (TestProject, McpPeer) {
    let project = fresh();
    project.write("hob.toml", setting);
    let mut peer = project.mcp(&[]);
    peer.initialize();
    (project, peer)
}

fn start(peer: &mut McpPeer, session: &str, profile: &str) {
    let started = peer.call("repl_start", json!({"session": session, "profile": profile, "wait_ms": 50_000}));
    assert!(!started.is_error, "{}", started.text);
}

#[track_caller]
fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn sessions() {
    let (_project, mut peer) = limited("[limits]\nsessions = 1\n");
    start(&mut peer, "one", "bash");
    let refused = peer.call("repl_start", json!({"session": "two", "profile": "bash"}));
    assert!(refused.is_error);
    assert_says(&refused.text, &["limits.sessions", "1", "repl_stop"]);
    peer.call("repl_stop", json!({"session": "one"}));
    start(&mut peer, "two", "bash");
}

#[test]
fn queued_evaluations() {
    let (project, mut peer) = limited("[limits]\nqueued_evaluations = 1\n");
    start(&mut peer, "main", "bash");
    let running = peer.call("repl_eval", json!({"code": "until [ -e over ]; do sleep 0.02; done", "wait_ms": 0}));
    assert!(!running.is_error, "{}", running.text);
    let queued = peer.call("repl_eval", json!({"code": "echo queued", "wait_ms": 0}));
    assert_eq!(queued.structured["status"], "queued", "{queued:#?}");
    let refused = peer.call("repl_eval", json!({"code": "echo refused", "wait_ms": 0}));
    let first = peer.call("repl_wait", json!({"eval": running.structured["eval"], "wait_ms": 0}));
    assert!(refused.is_error, "{}\nwhile the first was: {}", refused.text, first.text);
    assert_says(&refused.text, &["limits.queued_evaluations", "1"]);
    project.write("over", "");
    let waited = peer.call("repl_wait", json!({"eval": queued.structured["eval"], "wait_ms": 50_000}));
    assert_says(&waited.text, &["queued"]);
}

/// A program that prints faster than anybody reads delays neither the end of a wait nor an interrupt.
#[test]
fn a_wait_and_an_interrupt_end_while_output_has_no_end() {
    let project = fresh();
    let ran = project.run(["eval", "--session", "flood", "--profile", "bash", "--wait", "1", "yes"]);
    // It prints more than the log keeps, which is an error.
    assert!(matches!(ran.code, Some(1 | 11)) && ran.stderr.contains("It is still running"), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("y\ny\n"));
    let ran = project.run(["call", "repl_interrupt", "--session", "flood"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = project.run(["eval", "--session", "flood", "echo over"]);
    assert_eq!(ran.stdout, "over\n", "{}", ran.stderr);
}

#[test]
fn session_memory() {
    if !has_program("python3") {
        return;
    }
    let (_project, mut peer) = limited("[limits]\nsession_memory = 200000000\n");
    start(&mut peer, "main", "python");
    let killed =
        peer.call("repl_eval", json!({"code": "x = bytearray(10**9)\nimport time; time.sleep(60)", "wait_ms": 50_000}));
    assert_eq!(killed.structured["status"], "killed", "{killed:#?}");
    assert_says(&killed.text, &["memory"]);
}

#[test]
fn output_in_memory_and_on_disk() {
    if !has_program("python3") {
        return;
    }
    let (_project, mut peer) = limited("[limits]\noutput_memory = 65536\noutput_file = 1048576\n");
    start(&mut peer, "main", "python");
    let flood = peer.call("repl_eval", json!({"code": "print('0123456789abcdef' * 300_000)", "wait_ms": 50_000}));
    let stdout = &flood.structured["truncated"]["stdout"];
    assert_eq!(stdout["total"], 4_800_001, "{stdout}");
    assert!(stdout["dropped"].as_u64().is_some_and(|dropped| dropped > 3_000_000), "{stdout}");
    let oldest = peer.call("repl_read", json!({"cursor": 0, "max_bytes": 100}));
    assert_says(&oldest.structured.to_string(), &["dropped"]);
    let next = peer.call("repl_eval", json!({"code": "6 * 7"}));
    assert_says(&next.text, &["42"]);
}

#[test]
fn bytes_in_an_answer() {
    let (_project, mut peer) = limited("");
    start(&mut peer, "main", "bash");
    let cut = peer.call("repl_eval", json!({"code": "seq 1 100000", "max_bytes": 1000, "wait_ms": 50_000}));
    assert!(cut.text.len() < 3000, "{}", cut.text.len());
    assert_says(&cut.text, &["1\n2\n", "100000", "repl_read"]);
    assert_eq!(cut.structured["truncated"]["stdout"]["total"], 588_895, "{}", cut.structured["truncated"]);
}

#[test]
fn bytes_in_a_line() {
    let (_project, mut peer) = limited("[limits]\nline_bytes = 65536\n");
    let id = peer.start_call("repl_eval", json!({"code": "x".repeat(100_000)}));
    let response = peer.response(id);
    assert_says(&response["error"].to_string(), &["65536", "limits.line_bytes"]);
    assert!(!peer.call("repl_list", json!({})).is_error);
}

#[test]
fn calls_running_and_waiting() {
    let (_project, mut peer) = limited("[limits]\ncalls_running = 1\ncalls_waiting = 1\n");
    start(&mut peer, "main", "bash");
    // A call that waits for its evaluation does not count as running; a second one keeps its place in the queue.
    let waits = peer.start_call("repl_eval", json!({"code": "sleep 1; echo waits", "wait_ms": 50_000}));
    let held = peer.start_call("repl_eval", json!({"code": "sleep 1; echo held", "wait_ms": 50_000}));
    // One of these calls is queued; hob stops reading the others, and none is lost.
    let others: Vec<i64> = (0..3).map(|_| peer.start_call("repl_list", json!({}))).collect();
    for (id, said) in [(waits, "waits"), (held, "held")] {
        let answer = peer.wait_for("the next answer", |message| message.get("id").is_some());
        assert_eq!(answer["id"], id, "{answer}");
        assert_says(&answer["result"].to_string(), &[said]);
    }
    for id in others {
        assert!(!peer.answer(id).is_error);
    }
}

#[test]
fn connections() {
    let (project, _peer) = limited("[limits]\nconnections = 1\n");
    let mut refused = project.mcp(&[]);
    let id = refused.request("ping", json!({}));
    assert_says(&refused.response(id)["error"].to_string(), &["limits.connections", "its limit"]);
    // The command line can still connect, to show the status and to stop the daemon.
    assert_says(&project.run(["status"]).ok(), &["connections:"]);
}

#[test]
fn idle_sessions_and_daemons_end() {
    let (project, mut peer) = limited("[daemon]\nidle = \"1s\"\n[repl]\nidle = \"1s\"\n");
    start(&mut peer, "main", "bash");
    until("the idle session to end", || {
        let list = peer.call("repl_list", json!({}));
        list.text.contains("idle").then_some(())
    });
    let (status, _) = peer.close();
    assert!(status.success());
    project.wait_for_nothing_left();
}

#[test]
fn bytes_of_logs() {
    let project = fresh();
    project.write("hob.toml", "[limits]\nlog_bytes = 65536\n");
    let logged = || -> u64 {
        let files = std::fs::read_dir(project.state_dir().join("log")).into_iter().flatten().flatten();
        files.map(|file| file.metadata().unwrap().len()).sum()
    };
    let moved = project.state_dir().join("log/journal.previous.jsonl");
    // Each connection adds two lines to the journal.
    for _ in 0..400 {
        project.run(["call", "repl_list"]).ok();
        assert!(logged() <= 65_536, "{}", logged());
        if moved.exists() {
            return;
        }
    }
    panic!("nothing was moved aside");
}

/// 64 subagents wait for mail over their agent's one connection.
#[test]
fn calls_that_wait_keep_no_other_call_waiting() {
    let project = fresh();
    project.run(["quickstart", "--name", "waiter", "--role", "test"]).ok();
    let mut peer = project.mcp(&["repl,mail", "--as", "waiter"]);
    peer.initialize();
    start(&mut peer, "main", "bash");
    let waits: Vec<i64> = (0..64).map(|_| peer.start_call("wait_for_message", json!({"timeout": 600}))).collect();
    for number in 0..3 {
        let code = json!({"code": format!("echo $(({number} + 40))")});
        assert_says(&peer.call("repl_eval", code).text, &[&(number + 40).to_string()]);
    }
    let answered = |message: &serde_json::Value| waits.iter().any(|id| message["id"] == *id);
    assert!(!peer.take_unread().iter().any(answered), "all of them still wait");
}

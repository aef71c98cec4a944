//! The daemon as its clients see it: first lines of every kind, limits, a removed socket file, the exit when idle.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use expect_test::expect;
use serde_json::{Value, json};
use testkit::{TestProject, until};

use crate::{fresh, json_of, says};

/// Starts the daemon of a project, and returns its socket.
fn start(project: &TestProject) -> PathBuf {
    project.run(["call", "repl_list"]).ok();
    PathBuf::from(project.read_state("socket"))
}

/// Sends a first line; returns the connection and the answer.
fn connect(socket: &Path, line: &str) -> (BufReader<UnixStream>, Value) {
    let mut stream = BufReader::new(UnixStream::connect(socket).unwrap());
    stream.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_line(&mut answer).unwrap();
    let answer = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    (stream, answer)
}

const HELLO: &str = r#"{"hob": 1, "role": "mcp", "cwd": "/"}"#;

#[test]
fn a_first_line_that_is_none_is_answered_and_harms_nobody() {
    let project = fresh();
    let socket = start(&project);
    let mut said = String::new();
    for line in [
        "GET / HTTP/1.1\r\n\r",
        r#"{"hob":1,"role":"king","cwd":"/"}"#,
        r#"{"hob":1,"role":"mcp","cwd":"/","profile":"tidepuddle"}"#,
        r#"{"hob":9,"role":"mcp","cwd":"/","later":1}"#,
    ] {
        let answer = connect(&socket, line).1;
        assert_eq!(answer["ok"], false, "{answer}");
        said += &answer["error"].as_str().unwrap().replace(&answer["pid"].to_string(), "[pid]");
        said += "\n";
    }
    expect![[r#"
        the first line of a connection must be a hello of hob (expected value at line 1 column 1); agents connect through `hob mcp`
        the first line of a connection must be a hello of hob (unknown variant `king`, expected `mcp` or `control` at line 1 column 22); agents connect through `hob mcp`
        unknown profile 'tidepuddle'; available: ghc-mcp, thrum, tidepool, cure. Start `hob mcp` without --profile for hob's own tools
        this daemon (hob 0.1.0, pid [pid]) speaks protocol 1 and the caller 9; it is idle; end it with `hob stop`
    "#]]
    .assert_eq(&said);
    let mut long = UnixStream::connect(&socket).unwrap();
    // The daemon stops reading at its limit, so the write may fail.
    let _ = long.write_all(&vec![b'x'; 2 << 20]);
    let mut answer = String::new();
    let _ = long.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.contains("longer than 1048576 bytes"), "{answer}");
    assert!(project.run(["status"]).ok().contains("sessions: none"));
    // An idle daemon makes room for a newer front-end.
    let answer = connect(&socket, r#"{"hob":9,"role":"mcp","cwd":"/","make_room":true}"#).1;
    assert_eq!((&answer["ok"], &answer["making_room"]), (&json!(false), &json!(true)));
    until("the daemon makes room", || project.daemon_pid().is_none().then_some(()));
    project.wait_for_nothing_left();
}

#[test]
fn a_thousand_idle_connections_are_held_and_the_next_is_refused() {
    let project = fresh();
    project.write("hob.toml", "[limits]\nconnections = 1000\n");
    let socket = start(&project);
    // The connection of the command that started the daemon may still be closing.
    let accepted = || Some(connect(&socket, HELLO)).filter(|(_, answer)| answer["ok"] == true);
    let held: Vec<_> = (0..1000).map(|_| until("a place is free", accepted)).collect();
    let refused = connect(&socket, HELLO).1["error"].to_string();
    says(&refused, &["has 1000 connections, its limit; close some, or raise limits.connections in hob.toml"]);
    // A command can still connect, and counts too.
    let connections = || json_of(&project, &["status"])["connections"].as_array().unwrap().len();
    until("all have been let in", || (connections() == 1001).then_some(()));
    drop(held);
    until("all have left", || (connections() == 1).then_some(()));
}

#[test]
fn the_limits_of_a_connection_are_named_and_lose_no_call() {
    let project = fresh();
    project.write("hob.toml", "[limits]\nline_bytes = 65536\ncalls_running = 1\ncalls_waiting = 1\n");
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let id = peer.start_call("repl_eval", json!({"code": "x".repeat(100_000)}));
    says(&peer.response(id)["error"].to_string(), &["65536", "limits.line_bytes"]);
    peer.call("repl_start", json!({"profile": "bash"}));
    // A call that waits for its evaluation does not count as running; a second one keeps its place in the queue.
    let evals = ["waits", "held"].map(|word| {
        (peer.start_call("repl_eval", json!({"code": format!("sleep 1; echo {word}"), "wait_ms": 50_000})), word)
    });
    // One of these calls is queued; hob stops reading the others, and none is lost.
    let others: Vec<i64> = (0..3).map(|_| peer.start_call("repl_list", json!({}))).collect();
    for (id, word) in evals {
        let answer = peer.wait_for("the next answer", |message| message.get("id").is_some());
        assert_eq!(answer["id"], id, "{answer}");
        says(&answer["result"].to_string(), &[word]);
    }
    for id in others {
        assert!(!peer.answer(id).is_error);
    }
}

#[test]
fn a_socket_file_that_was_taken_away_comes_back() {
    let project = fresh();
    let socket = start(&project);
    let pid = project.daemon_pid();
    std::fs::remove_file(&socket).unwrap();
    until("the socket is bound anew", || UnixStream::connect(&socket).ok());
    assert_eq!(project.daemon_pid(), pid);
}

#[test]
fn a_daemon_that_nobody_uses_ends_its_sessions_and_then_itself() {
    let project = fresh();
    project.write("hob.toml", "[daemon]\nidle = \"1s\"\n[repl]\nidle = \"1s\"\n");
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    until("it ends by itself", || project.daemon_pid().is_none().then_some(()));
    assert!(project.read_state("log/journal.jsonl").contains("it was unused for 1 seconds"));
    project.wait_for_nothing_left();
}

//! The daemon as its clients see it: first lines of every kind, many connections, a removed socket file, the exit when idle.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use testkit::{TestProject, until};

use crate::fresh;

/// Starts the daemon of a fresh project, and returns its socket.
fn served() -> (TestProject, PathBuf) {
    let project = fresh();
    let socket = start(&project);
    (project, socket)
}

fn start(project: &TestProject) -> PathBuf {
    project.run(["call", "repl_list"]).ok();
    PathBuf::from(project.read_state("socket"))
}

fn hello(role: &str, more: Value) -> Value {
    let mut hello = json!({"hob": 1, "role": role, "cwd": "/"});
    hello.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hello
}

/// Sends a first line and returns the answer.
fn first_line(socket: &PathBuf, line: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(line).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer
}

/// Checks the error that a first line gets, without the parts that vary.
fn refused(socket: &PathBuf, line: &[u8], expected: Expect) {
    let answer: Value = serde_json::from_str(&first_line(socket, line)).unwrap();
    assert_eq!(answer["ok"], false, "{answer}");
    let pid = answer["pid"].to_string();
    expected.assert_eq(&answer["error"].as_str().unwrap().replace(&pid, "[pid]"));
}

#[test]
fn a_first_line_that_is_none_is_answered_and_harms_nobody() {
    let (project, socket) = served();
    refused(
        &socket,
        b"GET / HTTP/1.1\r\n\r\n",
        expect![
            "the first line of a connection must be a hello of hob (expected value at line 1 column 1); agents connect through `hob mcp`"
        ],
    );
    refused(
        &socket,
        b"{\"hob\":1,\"role\":\"king\",\"cwd\":\"/\"}\n",
        expect![
            "the first line of a connection must be a hello of hob (unknown variant `king`, expected `mcp` or `control` at line 1 column 22); agents connect through `hob mcp`"
        ],
    );
    let profile = hello("mcp", json!({"profile": "tidepuddle"})).to_string() + "\n";
    refused(
        &socket,
        profile.as_bytes(),
        expect![
            "unknown profile 'tidepuddle'; available: ghc-mcp, thrum, tidepool, cure. Start `hob mcp` without --profile for hob's own tools"
        ],
    );
    refused(
        &socket,
        b"{\"hob\":9,\"role\":\"mcp\",\"cwd\":\"/\",\"later\":1}\n",
        expect![
            "this daemon (hob 0.1.0, pid [pid]) speaks protocol 1 and the caller 9; it is idle; end it with `hob stop`"
        ],
    );
    let mut long = UnixStream::connect(&socket).unwrap();
    // The daemon stops reading at its limit, so the write may fail.
    let _ = long.write_all(&vec![b'x'; 2 << 20]);
    let mut answer = String::new();
    let _ = long.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.contains("longer than 1048576 bytes"), "{answer}");
    assert!(project.run(["status"]).ok().contains("sessions: none"));
    project.run(["stop"]).ok();
}

#[test]
fn an_idle_daemon_makes_room_for_a_newer_front_end() {
    let (project, socket) = served();
    let line = hello("mcp", json!({"hob": 9, "make_room": true})).to_string() + "\n";
    let answer: Value = serde_json::from_str(&first_line(&socket, line.as_bytes())).unwrap();
    assert_eq!((&answer["ok"], &answer["making_room"]), (&json!(false), &json!(true)));
    until("the daemon makes room", || project.daemon_pid().is_none().then_some(()));
    project.wait_for_nothing_left();
}

#[test]
fn a_thousand_idle_connections_are_held_and_the_next_is_answered() {
    let (project, socket) = served();
    let line = hello("mcp", json!({})).to_string() + "\n";
    let held: Vec<UnixStream> = (0..1000)
        .map(|_| {
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream.write_all(line.as_bytes()).unwrap();
            stream
        })
        .collect();
    let connections = || {
        let status: Value = serde_json::from_str(&project.run(["status", "--json"]).ok()).unwrap();
        status["connections"].as_array().unwrap().len()
    };
    // This connection counts too.
    until("all have been let in", || (connections() == 1001).then_some(()));
    drop(held);
    until("all have left", || (connections() == 1).then_some(()));
    project.run(["stop"]).ok();
}

#[test]
fn connections_beyond_the_limit_are_refused_by_its_name() {
    let project = fresh();
    project.write("hob.toml", "[limits]\nconnections = 2\n");
    let socket = start(&project);
    let line = hello("mcp", json!({})).to_string() + "\n";
    let stay = || {
        let mut stream = BufReader::new(UnixStream::connect(&socket).unwrap());
        stream.get_mut().write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_line(&mut answer).unwrap();
        (answer.contains("\"ok\":true"), stream, answer)
    };
    // The connection of `hob tools` may still be closing.
    let first = until("a place is free", || Some(stay()).filter(|(accepted, ..)| *accepted));
    let second = until("another place is free", || Some(stay()).filter(|(accepted, ..)| *accepted));
    let (accepted, _, answer) = stay();
    assert!(!accepted);
    assert!(answer.contains("has 2 connections, its limit; close some, or raise limits.connections in hob.toml"));
    drop((first, second));
    until("places are free again", || project.run(["stop"]).code.eq(&Some(0)).then_some(()));
}

#[test]
fn a_socket_file_that_was_taken_away_comes_back() {
    let (project, socket) = served();
    let pid = project.daemon_pid();
    std::fs::remove_file(&socket).unwrap();
    until("the socket is bound anew", || UnixStream::connect(&socket).ok());
    assert_eq!(project.daemon_pid(), pid);
    project.run(["stop"]).ok();
}

#[test]
fn nobody_there_for_the_idle_time_ends_it() {
    let project = fresh();
    project.write("hob.toml", "[daemon]\nidle = \"1s\"\n");
    start(&project);
    until("it ends by itself", || project.daemon_pid().is_none().then_some(()));
    assert!(project.read_state("log/journal.jsonl").contains("it was unused for 1 seconds"));
    project.wait_for_nothing_left();
}

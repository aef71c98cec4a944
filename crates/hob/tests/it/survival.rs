//! Recovery from kills: sessions survive their front-end, the front-end survives its daemon, and no process of a dead
//! daemon's sessions remains.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{McpPeer, Random, TestProject, has_program, is_alive, kill_hard, until};

use crate::{fresh, says};

/// Kills the daemon and waits until it is gone.
fn kill_daemon(project: &TestProject) {
    let daemon = project.daemon_pid().expect("a daemon");
    kill_hard(daemon);
    until("the daemon to end", || (!is_alive(daemon)).then_some(()));
}

#[test]
fn a_session_survives_its_front_end() {
    let project = fresh();
    let [mut first, mut second] = [project.mcp(&[]), project.mcp(&[])];
    first.initialize();
    second.initialize();
    first
        .start_call("repl_eval", json!({"profile": "bash", "code": "until [ -e go ]; do sleep 0.02; done; echo went"}));
    until("the evaluation to run", || {
        second.call("repl_list", json!({})).structured.to_string().contains("running").then_some(())
    });
    first.kill();
    project.write("go", "");
    let waited = second.call("repl_wait", json!({"wait_ms": 50_000}));
    assert!(waited.text.contains("went") && waited.structured["status"] == "done", "{waited:#?}");
}

#[test]
fn a_dead_daemon_s_terminal_has_ended_and_its_output_is_readable() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "terminal"]).ok();
    project.run(["call", "repl_eval", "--code", "echo $((40 + 2)) before", "--wait-ms", "50000"]).ok();
    project.run(["call", "repl_input", "--text", "sleep 1000<Enter>", "--wait-ms", "0"]).ok();
    until("the output on disk", || project.run(["call", "repl_read"]).ok().contains("sleep 1000").then_some(()));
    kill_daemon(&project);
    until("the terminal's programs to end", || {
        let left = project.processes().into_iter().any(|process| process.command.contains("sleep 1000"));
        (!left).then_some(())
    });
    says(&project.run(["status"]).ok(), &["the last one was killed or crashed", "/log"]);
    let listed = project.run(["call", "repl_list"]).ok();
    assert!(listed.starts_with("No sessions.") && listed.contains("main: ended with an earlier daemon"), "{listed}");
    says(&project.run(["call", "repl_read"]).ok(), &["42 before"]);
    let screen = project.run(["call", "repl_read", "--screen"]).stderr;
    says(&screen, &["Session \"main\" ended with its daemon, and its screen too."]);
    let waited = project.run(["call", "repl_wait", "--eval", "2"]).stderr;
    says(&waited, &["ran under an earlier daemon; it may not have ended"]);
    let next = project.run(["eval", "echo next"]);
    assert!(next.stdout.contains("next") && !next.stdout.contains("42 before"), "{next:?}");
    says(&next.stderr, &["ended with its daemon: its definitions are gone"]);
}

/// An upgrade replaces the file that front-ends run from; a running one starts its daemon from its own version.
#[test]
fn a_front_end_survives_the_replacement_of_its_program() {
    let project = fresh();
    project.write("hob.toml", "toolsets = [\"repl\"]\n");
    let program = project.top().join("hob");
    std::fs::copy(env!("CARGO_BIN_EXE_hob"), &program).unwrap();
    let mut command = project.command(&program);
    command.arg("mcp");
    let mut peer = McpPeer::spawn(command);
    peer.initialize();
    peer.call("repl_list", json!({}));
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "no program").unwrap();
    // The next daemon reads the configuration again, and the agent is told that its tools have changed.
    project.write("hob.toml", "toolsets = [\"repl\", \"mail\"]\n");
    kill_daemon(&project);
    let started = peer.call("repl_start", json!({"profile": "bash"}));
    assert!(!started.is_error, "{}", started.text);
    peer.notification("notifications/tools/list_changed");
    assert!(peer.result("tools/list", json!({})).to_string().contains("send_message"));
}

#[test]
fn a_killed_standalone_server_leaves_nothing() {
    let project = fresh();
    let mut peer = project.mcp(&["--standalone"]);
    peer.initialize();
    peer.call("repl_start", json!({"profile": "bash"}));
    peer.start_call("repl_eval", json!({"code": "sleep 600 & sleep 600"}));
    until("both sleeps to run", || {
        let processes = project.processes();
        (processes.iter().filter(|process| process.command.starts_with("sleep")).count() == 2).then_some(())
    });
    assert!(project.daemon_pid().is_none(), "standalone means without a daemon");
    peer.kill();
    project.wait_for_nothing_left();
}

/// The daemon is killed at random moments with eight calls in flight: every call is answered exactly once, the front-end
/// survives, the next call works, and no process of a session is left.
///
/// `HOB_TEST_KILLS` sets the number of kills, `HOB_TEST_SEED` the random seed.
#[test]
fn a_front_end_survives_its_daemon() {
    let (kills, seed) = (number("HOB_TEST_KILLS", 5), number("HOB_TEST_SEED", u64::from(std::process::id())));
    eprintln!("{kills} kills, HOB_TEST_SEED={seed}");
    if !has_program("python3") {
        return;
    }
    let project = fresh();
    let mut random = Random::new(seed);
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let (mut slowest, mut hit) = (Duration::ZERO, 0);
    for round in 0..kills {
        let left = one_kill(&project, &mut peer, &mut random, round, &mut hit);
        slowest = slowest.max(left);
    }
    eprintln!("{hit} of {} calls were lost with the daemon; sessions were gone after at most {slowest:?}", kills * 8);
    let (status, unread) = peer.close();
    assert!(status.success(), "{status}");
    let answers: Vec<&Value> = unread.iter().filter(|message| message.get("id").is_some()).collect();
    assert!(answers.is_empty(), "answered twice: {answers:#?}");
}

/// Runs one round; returns how long the sessions' processes outlived the daemon.
fn one_kill(project: &TestProject, peer: &mut McpPeer, random: &mut Random, round: u64, hit: &mut u64) -> Duration {
    let start = |peer: &mut McpPeer, session: &str, profile: &str| {
        let started = peer.call("repl_start", json!({"session": session, "profile": profile, "wait_ms": 50_000}));
        assert!(!started.is_error, "round {round}: {}", started.text);
    };
    // GHCi only sometimes: it takes longer to start than the rest of a round.
    let (profile, sleep) = match round % 5 {
        4 if has_program("ghci") => ("ghci", "Control.Concurrent.threadDelay 60000000"),
        _ => ("python", "import time; time.sleep(60)"),
    };
    start(peer, "held", profile);
    start(peer, "wide", "python");
    let daemon = project.daemon_pid().expect("a daemon after a call");
    let ids = [
        peer.start_call("repl_eval", json!({"session": "held", "code": sleep})),
        peer.start_call("repl_eval", json!({"session": "held", "code": "1 + 1"})),
        peer.start_call(
            "repl_eval",
            json!({"session": "wide", "code": "print('x' * 1_000_000)", "max_bytes": 1_000_000}),
        ),
        peer.request("ping", json!({})),
        peer.request("tools/list", json!({})),
        peer.start_call("repl_list", json!({})),
        peer.start_call("repl_wait", json!({"session": "held", "wait_ms": 40_000})),
        peer.start_call("repl_read", json!({"session": "wide", "max_bytes": 100_000})),
    ];
    std::thread::sleep(Duration::from_micros(random.below(250_000) as u64)); // sleeps: the moment is what is tested
    let sessions: Vec<i32> = project
        .processes()
        .into_iter()
        .filter(|process| process.pid != daemon && process.pid != peer.pid())
        .map(|process| process.pid)
        .collect();
    assert!(sessions.len() >= 2, "round {round}: two sessions have processes: {sessions:?}");
    kill_hard(daemon);
    let killed = Instant::now();
    until("the killed daemon's sessions to end", || sessions.iter().all(|pid| !is_alive(*pid)).then_some(()));
    let gone = killed.elapsed();

    let mut answered = BTreeSet::new();
    for (index, id) in ids.into_iter().enumerate() {
        let response = peer.response(id);
        assert!(answered.insert(id));
        let text = response.to_string();
        if text.contains("may have run") {
            assert!(index < 3, "a call that only reads is repeated without a warning: {text}");
            *hit += 1;
        }
        assert!(response.get("result").is_some() || response["error"]["message"].is_string(), "round {round}: {text}");
    }
    assert!(peer.is_running(), "round {round}: the front-end is gone; stderr: {}", peer.stderr());
    start(peer, "next", "python");
    let next = peer.call("repl_eval", json!({"session": "next", "code": "20 + 22"}));
    assert!(next.text.contains("42"), "round {round}: {next:#?}");
    gone
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

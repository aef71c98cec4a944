//! Agents, their waiters and the daemon may die; no message is lost.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{has_program, until};

use super::{Team, check, kill_daemon, ok, send, send_after_a_death, start_waiting, woken};

#[test]
fn waiters_outlive_the_daemon_and_so_does_what_was_acknowledged() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    let waiting = start_waiting(&mut reviewer, "all");
    let mut doorbell = team.command("tester", &["wait", "--timeout", "60"]);
    let doorbell = doorbell.stdout(Stdio::piped()).spawn().unwrap();
    kill_daemon(&team.project);
    // Front-ends find or start another daemon on their own.
    let id = send_after_a_death(&mut planner, "role:dev", "still there?");
    kill_daemon(&team.project);
    assert_eq!(woken(&mut reviewer, waiting)["content"], "still there?");
    let rung = doorbell.wait_with_output().unwrap();
    assert_eq!(rung.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&rung.stdout).contains(&id));
    // The shell's waiter was only notified: its message is still unread.
    assert_eq!(check(&mut team.agent("tester")), ["still there?"]);
    assert!(team.hob("planner", &["search", "still"]).contains(&id));
    assert!(team.hob("planner", &["thread", &id]).contains("| still there?"));
}

#[test]
fn a_live_agent_never_gets_it_twice_and_the_successor_of_a_dead_one_gets_it_again() {
    let team = Team::new();
    let (mut first, mut second) = (team.agent("reviewer"), team.agent("reviewer"));
    send(&mut team.agent("planner"), "reviewer", "once");
    assert_eq!(check(&mut first), ["once"]);
    assert!(check(&mut second).is_empty(), "another run of the agent while the first one lives");
    first.kill();
    let again = ok(&mut second, "wait_for_message", json!({"timeout": 60}));
    assert_eq!((&again["message"]["content"], &again["message"]["redelivered"]), (&json!("once"), &json!(true)));
    let mut third = team.agent("reviewer");
    assert!(check(&mut third).is_empty());
    kill_daemon(&team.project);
    assert!(check(&mut third).is_empty(), "over a restart of the daemon");
    assert!(check(&mut second).is_empty());
}

/// Locks the store against other writers until stdin closes.
const HOLD: &str = "import sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None)
store.execute('BEGIN IMMEDIATE')
print('held', flush=True)
sys.stdin.read()
store.execute('ROLLBACK')";

#[test]
fn a_send_from_a_shell_outlives_the_daemon_and_is_sent_once() {
    if !has_program("python3") {
        return;
    }
    let team = Team::new();
    let mut hold = team.project.command("python3");
    hold.args(["-c", HOLD]).arg(team.project.state_dir().join("mail.db")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut hold = hold.spawn().unwrap();
    let mut held = String::new();
    BufReader::new(hold.stdout.take().unwrap()).read_line(&mut held).unwrap();
    assert_eq!(held, "held\n");
    let mut send = team.command("planner", &["send", "once", "--to", "reviewer"]);
    let send = send.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the daemon to have it", || {
        let status: Value = serde_json::from_str(&team.hob("planner", &["status", "--json"])).unwrap();
        status["connections"].as_array().unwrap().iter().any(|one| one["pid"] == send.id()).then_some(())
    });
    kill_daemon(&team.project);
    drop(hold.stdin.take());
    assert!(hold.wait().unwrap().success());
    let sent = send.wait_with_output().unwrap();
    assert!(sent.status.success(), "{sent:?}");
    assert_eq!(check(&mut team.agent("reviewer")), ["once"]);
}

#[test]
fn an_answer_lost_with_its_daemon_is_given_again() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    // Whether or not the message was delivered before the daemon died, the agent gets it exactly once.
    for content in (0..10).map(|n| n.to_string()) {
        let waiting = start_waiting(&mut reviewer, "all");
        let call = json!({"to": "reviewer", "content": content, "idempotency_key": content});
        let sent = planner.start_call("send_message", call.clone());
        kill_daemon(&team.project);
        if planner.answer(sent).is_error {
            // It may have been stored; the key makes repeating it harmless.
            ok(&mut planner, "send_message", call);
        }
        assert_eq!(woken(&mut reviewer, waiting)["content"], *content);
        assert!(check(&mut reviewer).is_empty(), "{content} came twice");
    }
}

#[test]
fn an_answer_that_its_client_gave_up_is_given_again() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    for death in ["none", "after", "before"] {
        let waiting = start_waiting(&mut reviewer, "all");
        send(&mut planner, "reviewer", death);
        // A client that cancelled the call drops the answer, which was already in flight.
        reviewer.answer(waiting);
        if death == "before" {
            kill_daemon(&team.project);
        }
        reviewer.notify("notifications/cancelled", json!({"requestId": waiting, "reason": "took too long"}));
        if death == "after" {
            kill_daemon(&team.project);
        }
        let again = ok(&mut reviewer, "check_messages", json!({}))["messages"][0].clone();
        assert_eq!((&again["content"], &again["redelivered"]), (&json!(death), &json!(true)), "{again}");
        assert!(check(&mut reviewer).is_empty(), "it was confirmed by the call after");
    }
}

#[test]
fn a_call_that_waited_to_begin_confirms_nothing_that_a_dead_agent_was_handed() {
    let team = Team::new();
    // One call more than the limit starts, and the others wait for their turn.
    team.project.write("hob.toml", "[limits]\ncalls_running = 1\ncalls_waiting = 4\n");
    team.project.run(["stop"]).ok();
    let mut planner = team.agent("planner");
    for round in 0..20 {
        let mut waiter = team.agent("reviewer");
        (0..8).for_each(|_| _ = waiter.start_call("wait_for_message", json!({"timeout": 40})));
        let ping = waiter.request("ping", json!({}));
        waiter.response(ping);
        waiter.kill();
        let content = format!("round {round}");
        send(&mut planner, "reviewer", &content);
        let mut next = team.agent("reviewer");
        let got = until("the message after its agent's death", || Some(check(&mut next)).filter(|got| !got.is_empty()));
        assert_eq!(got, [content]);
        // This call confirms the message.
        check(&mut next);
        next.kill();
    }
}

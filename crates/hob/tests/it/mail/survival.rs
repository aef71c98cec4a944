//! Agents, their waiters and the daemon may die; no message is lost.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;
use testkit::{has_program, kill_hard, until};

use super::{Team, check, ok, send, start_waiting};

#[test]
fn of_three_waiters_one_gets_it() {
    let team = Team::new();
    let mut planner = team.agent("planner");
    let mut waiters = [team.agent("reviewer"), team.agent("reviewer"), team.agent("reviewer")];
    let calls: Vec<i64> = waiters.iter_mut().map(|waiter| start_waiting(waiter, "all")).collect();
    let mut got: Vec<String> = Vec::new();
    let mut answered = [false; 3];
    for n in 0..3 {
        send(&mut planner, "reviewer", &format!("{n}"));
        // Each message gets exactly one answer; any of the waiters may give it.
        until("one of the waiters", || {
            for (index, waiter) in waiters.iter_mut().enumerate().filter(|(index, _)| !answered[*index]) {
                let unread = waiter.take_unread();
                if let Some(message) = unread.iter().find(|message| message["id"] == calls[index]) {
                    answered[index] = true;
                    let content = &message["result"]["structuredContent"]["message"]["content"];
                    got.push(content.as_str().unwrap().to_owned());
                    return Some(());
                }
            }
            None
        });
        assert_eq!(got.len(), n + 1);
    }
    assert_eq!(got, ["0", "1", "2"]);
}

#[test]
fn a_live_agent_never_gets_it_twice() {
    let team = Team::new();
    let (mut planner, mut reviewer, mut other) =
        (team.agent("planner"), team.agent("reviewer"), team.agent("reviewer"));
    send(&mut planner, "reviewer", "once");
    assert_eq!(check(&mut reviewer), ["once"]);
    assert!(check(&mut other).is_empty(), "another run of the agent while the first one lives");
    kill_hard(team.project.daemon_pid().unwrap());
    assert!(check(&mut other).is_empty(), "over a restart of the daemon");
    assert!(check(&mut reviewer).is_empty());
    other.kill();
    assert!(check(&mut reviewer).is_empty());
}

#[test]
fn a_shell_s_waiter_outlives_the_daemon() {
    let team = Team::new();
    let mut doorbell = team.command("reviewer", &["wait", "--timeout", "60"]);
    let doorbell = doorbell.stdout(Stdio::piped()).spawn().unwrap();
    kill_hard(team.project.daemon_pid().unwrap());
    let mut planner = team.agent("planner");
    let id = send(&mut planner, "reviewer", "ring");
    let rung = doorbell.wait_with_output().unwrap();
    assert_eq!(rung.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&rung.stdout).contains(&id));
    // The waiter was only notified: the message is still unread.
    assert_eq!(check(&mut team.agent("reviewer")), ["ring"]);
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
        let status = team.hob("planner", &["status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        status["connections"].as_array().unwrap().iter().any(|one| one["pid"] == send.id()).then_some(())
    });
    kill_hard(team.project.daemon_pid().unwrap());
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
    for n in 0..10 {
        let waiting = start_waiting(&mut reviewer, "all");
        let sent = planner.start_call(
            "send_message",
            json!({"to": "reviewer", "content": format!("{n}"), "idempotency_key": format!("k{n}")}),
        );
        kill_hard(team.project.daemon_pid().unwrap());
        if planner.answer(sent).is_error {
            // It may have been stored; the key makes repeating it harmless.
            ok(
                &mut planner,
                "send_message",
                json!({"to": "reviewer", "content": format!("{n}"), "idempotency_key": format!("k{n}")}),
            );
        }
        assert_eq!(reviewer.answer(waiting).structured["message"]["content"], n.to_string());
        let again = ok(&mut reviewer, "check_messages", json!({}));
        assert_eq!(again["status"], "empty", "{n} came twice: {again}");
    }
}

#[test]
fn an_answer_that_its_client_gave_up_is_given_again() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    for (round, death) in [None, Some("after"), Some("before")].into_iter().enumerate() {
        let waiting = start_waiting(&mut reviewer, "all");
        send(&mut planner, "reviewer", &format!("{round}"));
        // A client that cancelled the call drops the answer, which was already in flight.
        reviewer.answer(waiting);
        if death == Some("before") {
            kill_hard(team.project.daemon_pid().unwrap());
        }
        reviewer.notify("notifications/cancelled", json!({"requestId": waiting, "reason": "took too long"}));
        if death == Some("after") {
            kill_hard(team.project.daemon_pid().unwrap());
        }
        let again = ok(&mut reviewer, "check_messages", json!({}));
        let message = &again["messages"][0];
        assert_eq!(
            (&message["content"], &message["redelivered"]),
            (&json!(round.to_string()), &json!(true)),
            "{again}"
        );
        assert!(check(&mut reviewer).is_empty(), "it was confirmed by the call after");
    }
}

#[test]
fn a_waiter_of_the_same_agent_gets_what_another_gave_up() {
    let team = Team::new();
    let (mut planner, mut first) = (team.agent("planner"), team.agent("reviewer"));
    let mut second = team.agent("reviewer");
    let waiting = start_waiting(&mut first, "all");
    send(&mut planner, "reviewer", "for one of you");
    first.answer(waiting);
    let other = start_waiting(&mut second, "all");
    first.notify("notifications/cancelled", json!({"requestId": waiting}));
    assert_eq!(second.answer(other).structured["message"]["content"], "for one of you");
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
        for _ in 0..8 {
            waiter.start_call("wait_for_message", json!({"timeout": 40, "priority_filter": "all"}));
        }
        let ping = waiter.request("ping", json!({}));
        waiter.response(ping);
        waiter.kill();
        let content = format!("round {round}");
        send(&mut planner, "reviewer", &content);
        let mut next = team.agent("reviewer");
        let got = until("the message after its agent's death", || {
            let got = check(&mut next);
            (!got.is_empty()).then_some(got)
        });
        assert_eq!(got, [content]);
        // This call confirms the message.
        check(&mut next);
        next.kill();
    }
}

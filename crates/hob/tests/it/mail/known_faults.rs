//! The known faults of the previous system, by number: none of them occurs here.

use serde_json::json;
use testkit::kill_hard;

use super::failures::crowd;
use super::pushed::{served, token};
use super::{Team, check, ok, refused, send, send_after_a_death, start_waiting};
use crate::websocket::WebSocket;

#[test]
fn defect_01_a_push_reaches_its_subscriber() {
    let team = Team::new();
    let mut doorbell = team.command("reviewer", &["wait", "--timeout", "60", "--json"]);
    let doorbell = doorbell.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut planner = team.agent("planner");
    let id = send(&mut planner, "reviewer", "ring");
    let rung = doorbell.wait_with_output().unwrap();
    assert_eq!(rung.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&rung.stdout).contains(&id));
    drop(planner);
    // The same for a client on the WebSocket.
    let (team, http) = served();
    let mut socket = WebSocket::connect(&http.address, &token(&team, "reviewer"));
    assert_eq!(socket.request("subscribe", json!({}))["result"]["agent"], "reviewer");
    let id = send(&mut team.agent("planner"), "reviewer", "ring");
    assert_eq!(socket.next_notification()["params"]["message_id"], id.as_str());
    drop(socket);
    http.stop(&team.project);
}

#[test]
fn defect_02_a_second_registration_keeps_every_waiter() {
    let team = Team::new();
    let (mut planner, mut reviewer, mut tester) = (team.agent("planner"), team.agent("reviewer"), team.agent("tester"));
    let waiting = [start_waiting(&mut reviewer, "all"), start_waiting(&mut tester, "all")];
    team.hob("reviewer", &["quickstart", "--name", "reviewer", "--role", "dev"]);
    team.hob("tester", &["quickstart", "--name", "tester", "--role", "dev"]);
    send(&mut planner, "reviewer", "one");
    send(&mut planner, "tester", "two");
    assert_eq!(reviewer.answer(waiting[0]).structured["message"]["content"], "one");
    assert_eq!(tester.answer(waiting[1]).structured["message"]["content"], "two");
}

#[test]
fn defect_03_a_waiter_hears_name_group_and_everyone() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    ok(&mut planner, "create_group", json!({"name": "g"}));
    ok(&mut planner, "add_group_member", json!({"group": "g", "member_type": "agent", "member_id": "reviewer"}));
    for to in ["@reviewer", "@g", "@everyone", "@dev"] {
        let waiting = start_waiting(&mut reviewer, "all");
        send(&mut planner, to, to);
        assert_eq!(reviewer.answer(waiting).structured["message"]["content"], to);
    }
}

#[test]
fn defect_04_a_mailbox_holds_what_is_for_its_agent_and_who_wrote_it_is_true() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    send(&mut planner, "reviewer", "by name");
    send(&mut planner, "everyone", "to all");
    send(&mut reviewer, "everyone", "from the reviewer");
    let got = ok(&mut planner, "check_messages", json!({}));
    assert_eq!(got["messages"].as_array().unwrap().len(), 1, "not one's own: {got}");
    assert_eq!(got["messages"][0]["from"], "reviewer");
    assert_eq!(check(&mut reviewer), ["by name", "to all"]);
}

#[test]
fn defect_05_what_a_wait_gave_no_check_gives_again() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    let waiting = start_waiting(&mut reviewer, "all");
    send(&mut planner, "reviewer", "once");
    assert_eq!(reviewer.answer(waiting).structured["message"]["content"], "once");
    assert!(check(&mut reviewer).is_empty());
    let none = ok(&mut reviewer, "wait_for_message", json!({"timeout": 0}));
    assert_eq!(none["status"], "timeout");
}

#[test]
fn defect_06_more_than_a_thousand_wait_over_a_restart_and_wake_who_comes_later() {
    let team = Team::new();
    let mut planner = team.agent("planner");
    let sent: Vec<i64> = (0..1_100)
        .map(|n| planner.start_call("send_message", json!({"to": "reviewer", "content": n.to_string()})))
        .collect();
    for id in sent {
        assert!(!planner.answer(id).is_error);
    }
    team.hob("planner", &["stop"]);
    let mut reviewer = team.agent("reviewer");
    let first = ok(&mut reviewer, "wait_for_message", json!({"timeout": 60}));
    assert_eq!(first["remaining"], 1_099);
    let mut got: Vec<u32> = vec![first["message"]["content"].as_str().unwrap().parse().unwrap()];
    while got.len() < 1_100 {
        let more = ok(&mut reviewer, "check_messages", json!({"limit": 500}));
        let messages = more["messages"].as_array().unwrap();
        assert!(!messages.is_empty(), "{} came", got.len());
        got.extend(messages.iter().map(|message| message["content"].as_str().unwrap().parse::<u32>().unwrap()));
    }
    // Their order is undefined, since they were sent concurrently; none is lost or duplicated.
    got.sort_unstable();
    assert!(got.iter().copied().eq(0..1_100), "{} came", got.len());
}

#[test]
fn defect_07_a_waiter_whose_daemon_dies_is_not_deaf() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    let waiting = start_waiting(&mut reviewer, "all");
    kill_hard(team.project.daemon_pid().unwrap());
    // Both front-ends find or start another daemon on their own.
    send_after_a_death(&mut planner, "reviewer", "still there?");
    assert_eq!(reviewer.answer(waiting).structured["message"]["content"], "still there?");
}

#[test]
fn defect_08_an_unknown_recipient_is_an_error_with_a_suggestion() {
    let team = Team::new();
    let mut planner = team.agent("planner");
    let said = refused(&mut planner, "send_message", json!({"to": "@reviewr", "content": "x"}));
    assert!(said.contains("Unknown recipient") && said.contains("Nearest: reviewer"), "{said}");
}

#[test]
fn defect_09_what_a_dead_agent_had_not_confirmed_comes_again() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    send(&mut planner, "reviewer", "important");
    assert_eq!(check(&mut reviewer), ["important"]);
    reviewer.kill();
    let mut successor = team.agent("reviewer");
    let again = ok(&mut successor, "wait_for_message", json!({"timeout": 60}));
    assert_eq!((&again["message"]["content"], &again["message"]["redelivered"]), (&json!("important"), &json!(true)));
    assert!(check(&mut successor).is_empty());
}

#[test]
fn defect_10_a_broadcast_is_one_message_and_its_filters_apply() {
    let team = Team::new();
    let mut planner = team.agent("planner");
    let _here = (team.agent("reviewer"), team.agent("tester"));
    let all = ok(&mut planner, "broadcast_message", json!({"content": "all"}));
    assert_eq!((&all["status"], &all["sent_to"]), (&json!("sent"), &json!(["reviewer", "tester"])));
    assert_eq!((&all["total_sent"], all["message_ids"].as_array().unwrap().len()), (&json!(2), 1));
    // An agent that never ran here.
    let log = team.project.top().join(".thrum");
    crowd(&log, 1);
    team.hob("planner", &["import", "thrum", log.to_str().unwrap()]);
    let mut sent_to = |filter: serde_json::Value| {
        let sent = ok(&mut planner, "broadcast_message", json!({"content": "some", "filter": filter}));
        sent["sent_to"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(sent_to(json!({"status": "all", "exclude": ["reviewer", "tester"]})), ["c0"]);
    assert_eq!(sent_to(json!({"status": "active", "exclude": ["tester"]})), ["reviewer"]);
    let everyone = ok(&mut planner, "send_message", json!({"to": "@everyone", "content": "all"}));
    assert_eq!(everyone["recipient_status"], "mixed");
    let offline = ok(&mut planner, "send_message", json!({"to": "c0", "content": "all"}));
    assert_eq!(offline["recipient_status"], "offline");
    let nobody = json!({"content": "none", "filter": {"exclude": ["tester", "reviewer", "c0"]}});
    let nobody = ok(&mut planner, "broadcast_message", nobody);
    assert_eq!((&nobody["status"], &nobody["total_sent"]), (&json!("no_recipients"), &json!(0)));
    assert_eq!(check(&mut team.agent("tester")), ["all", "all"]);
    assert_eq!(check(&mut team.agent("reviewer")), ["all", "some", "all"]);
}

#[test]
fn defect_11_priority_is_kept_and_counts() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    send(&mut planner, "reviewer", "plain");
    ok(&mut planner, "send_message", json!({"to": "reviewer", "content": "now", "priority": "critical"}));
    let got = ok(&mut reviewer, "check_messages", json!({}));
    let said: Vec<_> = got["messages"].as_array().unwrap().iter().map(|m| m["priority"].as_str().unwrap()).collect();
    assert_eq!(said, ["critical", "normal"]);
}

#[test]
fn defect_12_what_was_acknowledged_is_whole_after_a_kill() {
    let team = Team::new();
    let mut planner = team.agent("planner");
    let id = send(&mut planner, "role:dev", "indivisible");
    kill_hard(team.project.daemon_pid().unwrap());
    for name in ["reviewer", "tester"] {
        assert_eq!(check(&mut team.agent(name)), ["indivisible"]);
    }
    assert!(team.hob("planner", &["search", "indivisible"]).contains(&id));
    assert!(team.hob("planner", &["thread", &id]).contains("| indivisible"));
}

#[test]
fn defect_13_whoever_waits_or_floods_stops_nobody() {
    let team = Team::new();
    let (mut planner, mut reviewer, mut tester) = (team.agent("planner"), team.agent("reviewer"), team.agent("tester"));
    let waiting: Vec<i64> = (0..30).map(|_| start_waiting(&mut tester, "critical")).collect();
    let flood: Vec<i64> = (0..300)
        .map(|n| planner.start_call("send_message", json!({"to": "everyone", "content": format!("{n}")})))
        .collect();
    send(&mut reviewer, "planner", "in between");
    assert!(team.hob("reviewer", &["status"]).contains("pid"));
    flood.into_iter().for_each(|id| assert!(!planner.answer(id).is_error));
    assert_eq!(check(&mut planner), ["in between"]);
    (0..30).for_each(|_| {
        ok(&mut planner, "send_message", json!({"to": "tester", "content": "up", "priority": "critical"}));
    });
    for id in waiting {
        assert_eq!(tester.answer(id).structured["message"]["content"], "up");
    }
}

#[test]
fn defect_14_a_blocked_listener_is_active() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    let waiting = start_waiting(&mut reviewer, "all");
    let listed = ok(&mut planner, "list_agents", json!({"include_offline": false}));
    let names: Vec<&str> = listed["agents"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"reviewer"), "{names:?}");
    let sent = ok(&mut planner, "send_message", json!({"to": "reviewer", "content": "hello"}));
    assert_eq!(sent["recipient_status"], "active");
    reviewer.answer(waiting);
}

//! Notifications of mail on the WebSocket: an agent subscribes to its own mailbox with its own token, and gets each notice
//! exactly once, whatever happens to the connection.

use serde_json::{Value, json};
use testkit::until;

use super::{Team, check, ok, refused, send};
use crate::http::Http;
use crate::websocket::WebSocket;

/// Creates a team whose daemon serves HTTP, and returns an agent's token.
pub(super) fn served() -> (Team, Http) {
    let team = Team::new();
    team.hob("planner", &["stop"]);
    let http = Http::start(&team.project);
    (team, http)
}

pub(super) fn token(team: &Team, name: &str) -> String {
    team.hob(name, &["agents", "token", name]).trim_end().to_owned()
}

fn subscribe(socket: &mut WebSocket, params: Value) -> u64 {
    let answer = socket.request("subscribe", params);
    answer["result"]["cursor"].as_u64().unwrap_or_else(|| panic!("{answer}"))
}

fn refusal(socket: &mut WebSocket, params: Value) -> String {
    let answer = socket.request("subscribe", params);
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn a_subscriber_is_told_of_what_waits_and_of_what_comes() {
    let (team, http) = served();
    let mut planner = team.agent_with("planner", &["mail"]);
    let waits = send(&mut planner, "reviewer", "waits\nalready\u{1b}[2J");
    let mut socket = WebSocket::connect(&http.address, &token(&team, "reviewer"));
    assert_eq!(subscribe(&mut socket, json!({})), 0);
    let told = socket.next_notification();
    assert_eq!((&told["method"], &told["params"]["message_id"]), (&json!("notification.message"), &json!(waits)));
    assert_eq!(told["params"]["preview"], "waits\\nalready\\x1b[2J");
    // Another subscription replaces the first: its minimum priority applies, and nothing is repeated.
    assert_eq!(subscribe(&mut socket, json!({"floor": "high_and_above", "after": 1})), 1);
    send(&mut planner, "role:dev", "can wait");
    ok(&mut planner, "send_message", json!({"to": "everyone", "content": "urgent", "priority": "critical"}));
    assert_eq!(socket.next_notification()["params"]["preview"], "urgent");
    // The message was announced but not delivered, and its record says so. The notice is sent before it is recorded.
    let hint = until("the record of the hint", || {
        let status = ok(&mut planner, "delivery_status", json!({"id": waits}));
        Some(status["recipients"][0]["hints"][0].clone()).filter(|hint| !hint.is_null())
    });
    assert_eq!(hint["rung"], "subscription", "{hint}");
    assert_eq!(check(&mut team.agent("reviewer")), ["urgent", "waits\nalready\u{1b}[2J", "can wait"]);
    drop((planner, socket));
    http.stop(&team.project);
}

#[test]
fn a_connection_that_is_cut_and_comes_back_misses_nothing_and_hears_nothing_twice() {
    const MESSAGES: usize = 600;
    let (team, http) = served();
    let token = token(&team, "reviewer");
    let mut planner = team.agent("planner");
    let message = |n: usize| json!({"to": "reviewer", "content": format!("message {n}")});
    let sent: Vec<i64> = (0..MESSAGES).map(|n| planner.start_call("send_message", message(n))).collect();
    let mut told: Vec<(u64, String)> = Vec::new();
    let mut connections = 0;
    while told.len() < MESSAGES {
        let mut socket = WebSocket::connect(&http.address, &token);
        subscribe(&mut socket, told.last().map_or(json!({}), |(last, _)| json!({"after": last})));
        connections += 1;
        // A different number each time; then the connection is cut with notices in flight.
        for _ in 0..(connections * 7 % 40).min(MESSAGES - told.len()) {
            let notice = socket.next_notification()["params"].clone();
            told.push((notice["seq"].as_u64().unwrap(), notice["message_id"].as_str().unwrap().to_owned()));
        }
        socket.cut();
    }
    assert!(told.iter().map(|(seq, _)| *seq).eq(1..=MESSAGES as u64), "{told:?}");
    let mut told: Vec<String> = told.into_iter().map(|(_, id)| id).collect();
    let id = |call| planner.answer(call).structured["message_id"].as_str().unwrap().to_owned();
    let mut acknowledged: Vec<String> = sent.into_iter().map(id).collect();
    told.sort();
    acknowledged.sort();
    assert_eq!(told, acknowledged);
    assert!(connections > 20, "{connections}");
    drop(planner);
    http.stop(&team.project);
}

#[test]
fn who_may_not_be_told_is_refused_and_told_why() {
    let (team, http) = served();
    let reviewer = token(&team, "reviewer");
    let open = |lines: &[&str]| WebSocket::open(&http.address, lines);
    let status = |lines: &[&str]| open(lines).err().map(|head| head.split(' ').nth(1).unwrap().to_owned());
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    for wrong in ["no", "", "reviewer", &reviewer.replace("reviewer.", "planner."), &reviewer[..40]] {
        assert_eq!(status(&[&bearer(wrong)]).as_deref(), Some("401"), "{wrong}");
    }
    assert_eq!(status(&[]).as_deref(), Some("401"));
    assert_eq!(status(&[&bearer(&reviewer), "Origin: null"]).as_deref(), Some("403"));
    // The header that a web page on this machine would send.
    let offered = format!("Sec-WebSocket-Protocol: mcp, bearer.{reviewer}");
    let mut page = open(&[&offered, "Origin: http://localhost:5173"]).ok().unwrap();
    assert_eq!(subscribe(&mut page, json!({})), 0);
    // Only its own mailbox, and only from a valid position.
    assert!(refusal(&mut page, json!({"agent": "planner"})).contains("unknown field `agent`"));
    assert!(refusal(&mut page, json!({"after": 7})).contains("start again without `after`"));
    // The common token belongs to no agent.
    let mut anybody = open(&[&http.bearer()]).ok().unwrap();
    let why = refusal(&mut anybody, json!({}));
    for part in ["does not identify an agent", "planner (\"lead\")", "reviewer (\"dev\")", "hob agents token NAME"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    // A token is revoked and recreated.
    team.hob("reviewer", &["agents", "token", "--revoke"]);
    assert_eq!(status(&[&bearer(&reviewer)]).as_deref(), Some("401"));
    let second = token(&team, "reviewer");
    let third = team.hob("reviewer", &["agents", "token", "--renew"]);
    assert_eq!(status(&[&bearer(&second)]).as_deref(), Some("401"));
    assert_eq!(status(&[&bearer(third.trim_end())]), None);
    drop((page, anybody));
    http.stop(&team.project);
}

#[test]
fn whose_name_was_taken_over_hears_no_more_of_its_mail() {
    let (team, http) = served();
    let token = token(&team, "reviewer");
    let mut socket = WebSocket::connect(&http.address, &token);
    subscribe(&mut socket, json!({}));
    let mut doorbell = team.command("reviewer", &["wait", "--timeout", "60"]);
    let doorbell = doorbell.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut old = team.agent_with("reviewer", &["mail"]);
    ok(&mut old, "search_messages", json!({"query": "x"}));
    let mut new = team.agent_with("tester", &["--profile", "thrum", "--as", "reviewer", "--takeover"]);
    ok(&mut new, "check_messages", json!({}));
    let (end, taker) = (socket.next_notification(), team.dir("tester").display().to_string());
    assert_eq!(end["method"], "notification.end", "{end}");
    assert!(end["params"]["reason"].as_str().unwrap().contains(&taker), "{end}");
    team.hob("planner", &["send", "for the new one only", "--to", "reviewer"]);
    assert!(refusal(&mut socket, json!({})).contains("taken over"));
    // The old holder cannot read with any other tool either.
    for (tool, arguments) in [
        ("search_messages", json!({"query": "new"})),
        ("wait_for_message", json!({"after": 0, "timeout": 0})),
        ("check_messages", json!({})),
    ] {
        assert!(refused(&mut old, tool, arguments).contains("taken over"), "{tool}");
    }
    let ended = doorbell.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(4) && said.contains("taken over"), "{said}");
    // The token is bound to the worktree of the old holder.
    assert!(refusal(&mut WebSocket::connect(&http.address, &token), json!({})).contains("belongs to"));
    assert_eq!(check(&mut new), ["for the new one only"]);
    drop((old, new, socket));
    http.stop(&team.project);
}

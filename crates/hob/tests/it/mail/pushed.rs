//! Notifications of mail on the WebSocket: an agent subscribes to its own mailbox with its own token, and gets each notice
//! exactly once, whatever happens to the connection.

use std::collections::BTreeSet;

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
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    let token = token(&team, "reviewer");
    let waits = send(&mut planner, "reviewer", "waits\nalready\u{1b}[2J");
    let mut socket = WebSocket::connect(&http.address, &token);
    assert_eq!(subscribe(&mut socket, json!({})), 0);
    let told = socket.next_notification();
    assert_eq!(told["method"], "notification.message", "{told}");
    let message = &told["params"];
    assert_eq!((&message["message_id"], &message["from"]), (&json!(waits), &json!("planner")));
    assert_eq!((&message["priority"], &message["seq"]), (&json!("normal"), &json!(1)));
    assert_eq!(message["preview"], "waits\\nalready\\x1b[2J");
    assert!(message["timestamp"].as_str().unwrap().ends_with('Z'), "{message}");
    // Another subscription replaces the first: its minimum priority applies, and nothing is repeated.
    assert_eq!(subscribe(&mut socket, json!({"floor": "high_and_above", "after": 1})), 1);
    send(&mut planner, "role:dev", "can wait");
    let urgent = json!({"to": "everyone", "content": "urgent", "priority": "critical"});
    let urgent = ok(&mut planner, "send_message", urgent)["message_id"].clone();
    assert_eq!(socket.next_notification()["params"]["message_id"], urgent);
    send(&mut planner, "tester", "for somebody else");
    ok(&mut planner, "send_message", json!({"to": "reviewer", "content": "last", "priority": "high"}));
    assert_eq!(socket.next_notification()["params"]["preview"], "last");
    // The message was announced but not delivered, and its record says so.
    assert_eq!(check(&mut reviewer), ["urgent", "last", "waits\nalready\u{1b}[2J", "can wait"]);
    let mut planner = team.agent_with("planner", &["mail"]);
    // The notice is sent before it is recorded.
    let hint = until("the record of the hint", || {
        let status = ok(&mut planner, "delivery_status", json!({"id": waits}));
        Some(status["recipients"][0]["hints"][0].clone()).filter(|hint| !hint.is_null())
    });
    assert_eq!(hint["rung"], "subscription", "{hint}");
    drop((planner, reviewer, socket));
    http.stop(&team.project);
}

#[test]
fn a_connection_that_is_cut_and_comes_back_misses_nothing_and_hears_nothing_twice() {
    const MESSAGES: u64 = 600;
    let (team, http) = served();
    let token = token(&team, "reviewer");
    let mut planner = team.agent("planner");
    let sent: Vec<i64> = (0..MESSAGES)
        .map(|n| planner.start_call("send_message", json!({"to": "reviewer", "content": format!("message {n}")})))
        .collect();
    let mut told: Vec<u64> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut connections = 0_u64;
    while told.len() < MESSAGES as usize {
        let mut socket = WebSocket::connect(&http.address, &token);
        let last = told.last().copied();
        subscribe(&mut socket, last.map_or(json!({}), |last| json!({"after": last})));
        connections += 1;
        // A different number each time; then the connection is cut with notices in flight.
        for _ in 0..(connections * 7) % 40 {
            if told.len() == MESSAGES as usize {
                break;
            }
            let message = socket.next_notification()["params"].clone();
            told.push(message["seq"].as_u64().unwrap_or_else(|| panic!("{message}")));
            ids.insert(message["message_id"].as_str().unwrap().to_owned());
        }
        socket.cut();
    }
    assert!(told.iter().copied().eq(1..=MESSAGES), "{told:?}");
    let acknowledged: BTreeSet<String> = sent
        .into_iter()
        .map(|call| planner.answer(call).structured["message_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, acknowledged);
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
    let other_secret = reviewer.replace("reviewer.", "planner.");
    for wrong in ["no", "", "reviewer", "reviewer.", &other_secret, &reviewer[..40], &format!("{reviewer}0")] {
        assert_eq!(status(&[&bearer(wrong)]).as_deref(), Some("401"), "{wrong}");
    }
    assert_eq!(status(&[]).as_deref(), Some("401"));
    assert_eq!(status(&[&bearer(&reviewer), "Origin: http://evil.example"]).as_deref(), Some("403"));
    assert_eq!(status(&[&bearer(&reviewer), "Origin: null"]).as_deref(), Some("403"));
    // The header that a web page on this machine would send.
    let offered = format!("Sec-WebSocket-Protocol: mcp, bearer.{reviewer}");
    let mut page = open(&[&offered, "Origin: http://localhost:5173"]).ok().unwrap();
    assert_eq!(subscribe(&mut page, json!({})), 0);
    // Only its own mailbox, and only from a valid position.
    assert!(refusal(&mut page, json!({"agent": "planner"})).contains("unknown field `agent`"));
    assert!(refusal(&mut page, json!({"after": 7})).contains("start again without `after`"));
    assert!(refusal(&mut page, json!({"floor": "urgent"})).contains("unknown variant"));
    // The common token belongs to no agent.
    let mut anybody = open(&[&http.bearer()]).ok().unwrap();
    let why = refusal(&mut anybody, json!({}));
    for part in ["no agent", "planner (\"lead\")", "reviewer (\"dev\")", "hob agents token NAME", "Bearer"] {
        assert!(why.replace("does not identify an agent", "no agent").contains(part), "{part}: {why}");
    }
    // A connection that cannot receive later notices refuses the subscription.
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
    }}});
    let lines = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscribe"];
    let why = http.post_with(&reviewer, &lines, &message);
    assert!(why.body.contains("a persistent connection"), "{}", why.body);
    // A token is revoked and recreated.
    team.hob("reviewer", &["agents", "token", "--revoke"]);
    assert_eq!(status(&[&bearer(&reviewer)]).as_deref(), Some("401"));
    let second = token(&team, "reviewer");
    let third = team.hob("reviewer", &["agents", "token", "--renew"]);
    assert_ne!(second, third.trim_end());
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
    let end = socket.next_notification();
    assert_eq!(end["method"], "notification.end", "{end}");
    let taker = team.dir("tester").display().to_string();
    assert!(end["params"]["reason"].as_str().unwrap().contains(&taker), "{end}");
    send(&mut team.agent("planner"), "reviewer", "for the new one only");
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
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(4) && said.contains("taken over"), "{said}");
    // The token is bound to the worktree of the old holder.
    let mut again = WebSocket::connect(&http.address, &token);
    assert!(refusal(&mut again, json!({})).contains("belongs to"));
    assert_eq!(check(&mut new), ["for the new one only"]);
    drop((old, new, socket, again));
    http.stop(&team.project);
}

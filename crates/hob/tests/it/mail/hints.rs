//! Hints in other tools' results that mail is waiting, once per arrival.

use serde_json::json;
use testkit::{McpPeer, until};

use super::{Team, ok, send};

/// Returns the hint before a call's own text.
fn text_before_result(peer: &mut McpPeer) -> String {
    let text = peer.call("repl_eval", json!({"code": "echo own"})).text;
    text.split("own\n").next().unwrap_or_default().trim_end().to_owned()
}

/// Waits until there is a hint, and returns it.
fn hinted(peer: &mut McpPeer) -> String {
    until("a hint beside a result", || Some(text_before_result(peer)).filter(|said| !said.is_empty()))
}

fn with_bash(team: &Team, name: &str, args: &[&str]) -> McpPeer {
    let mut peer = team.agent_with(name, args);
    ok(&mut peer, "repl_start", json!({"profile": "bash"}));
    peer
}

#[test]
fn mail_that_waits_is_told_beside_other_results_once_for_each_arrival() {
    let team = Team::new();
    let mut planner = team.agent_with("planner", &["mail"]);
    send(&mut planner, "reviewer", "one");
    let urgent = json!({"to": "reviewer", "content": "two", "priority": "critical"});
    ok(&mut planner, "send_message", urgent);

    // It has not used the mail yet: its worktree identifies it.
    let _session = with_bash(&team, "reviewer", &["repl"]);
    let mut reviewer = team.agent_with("reviewer", &[]);
    assert_eq!(
        hinted(&mut reviewer),
        "2 messages wait for reviewer, 1 critical, from planner: check_messages takes them."
    );
    assert_eq!(text_before_result(&mut reviewer), "");

    send(&mut planner, "reviewer", "three");
    assert_eq!(
        hinted(&mut reviewer),
        "3 messages wait for reviewer, 1 critical, from planner: check_messages takes them."
    );

    // Read messages are not announced, and the mail tools need no hint.
    let read = ok(&mut reviewer, "check_messages", json!({}));
    assert_eq!(read["messages"].as_array().map(Vec::len), Some(3), "{read}");
    for _ in 0..5 {
        assert_eq!(text_before_result(&mut reviewer), "");
    }
    send(&mut planner, "reviewer", "four");
    // The three leased messages do not count as waiting.
    assert_eq!(hinted(&mut reviewer), "1 message waits for reviewer, from planner: check_messages takes them.");
    let mut tester = team.agent_with("tester", &["mail"]);
    send(&mut tester, "reviewer", "five");
    assert_eq!(hinted(&mut reviewer), "2 messages wait for reviewer, from planner, tester: check_messages takes them.");
}

#[test]
fn what_waited_before_is_told_with_the_first_result() {
    let team = Team::new();
    let mut planner = team.agent_with("planner", &["mail"]);
    send(&mut planner, "reviewer", "one");
    let mut holding = with_bash(&team, "reviewer", &["repl"]);
    assert_eq!(text_before_result(&mut holding), "");
    // Counting starts with the connection, and no result waits for it.
    let first = until("a hint with a first result", || {
        let said = text_before_result(&mut team.agent_with("reviewer", &[]));
        Some(said).filter(|said| !said.is_empty())
    });
    assert_eq!(first, "1 message waits for reviewer, from planner: check_messages takes them.");
}

#[test]
fn hints_are_only_for_who_has_the_mail_and_a_name() {
    let team = Team::new();
    let mut planner = team.agent_with("planner", &["mail"]);
    send(&mut planner, "reviewer", "one");
    let mut without_mail = with_bash(&team, "reviewer", &["repl"]);
    // The text of an imitated system is not changed.
    let mut imitating = team.agent_with("reviewer", &["--profile", "thrum", "--as", "reviewer"]);
    for _ in 0..5 {
        assert_eq!(text_before_result(&mut without_mail), "");
        assert!(!imitating.call("list_agents", json!({})).text.contains("wait for reviewer"));
    }

    // An agent that gets a name later is notified from then on, even if it got the name from outside.
    let project = crate::fresh();
    let mut named = project.mcp(&[]);
    named.initialize();
    ok(&mut named, "repl_start", json!({"profile": "bash"}));
    assert_eq!(text_before_result(&mut named), "");
    project.run(["quickstart", "--name", "named", "--role", "dev"]).ok();
    project.run(["send", "--to", "named", "note to self"]).ok();
    assert_eq!(hinted(&mut named), "1 message waits for named, from named: check_messages takes them.");
    let project = crate::fresh();
    let mut late = project.mcp(&[]);
    late.initialize();
    ok(&mut late, "repl_start", json!({"profile": "bash"}));
    assert_eq!(text_before_result(&mut late), "");
    ok(&mut late, "register_agent", json!({"name": "late", "role": "dev"}));
    project.run(["send", "--as", "late", "--to", "late", "note to self"]).ok();
    assert_eq!(hinted(&mut late), "1 message waits for late, from late: check_messages takes them.");
}

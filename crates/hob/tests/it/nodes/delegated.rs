//! Without a model, an agent answers a node itself: the request, and the handling of its answer.

use serde_json::{Value, json};
use testkit::{McpPeer, is_alive, kill_hard, until};

use super::RATE;
use crate::fresh;

fn begin(peer: &mut McpPeer) -> String {
    let delegated = peer.call("rate", json!({"text": "It rained."}));
    assert_eq!(delegated.structured["state"], "delegate", "{delegated:?}");
    delegated.structured["delegate"]["ticket"].as_str().unwrap().to_owned()
}

fn submit(peer: &mut McpPeer, ticket: &str, value: Value) -> Value {
    peer.call("node_submit", json!({"ticket": ticket, "value": value})).structured
}

#[test]
fn an_agent_answers_a_node_itself() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let delegated = peer.call("rate", json!({"text": "It rained."}));
    let asked = &delegated.structured["delegate"];
    let (ticket, schema) = (asked["ticket"].as_str().unwrap(), asked["schema"].to_string());
    assert!(delegated.text.contains(ticket) && delegated.text.contains(&schema), "{}", delegated.text);
    let prompt: usize =
        asked["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap().len()).sum();
    assert!(delegated.text.len() <= prompt + schema.len() + 600, "{}", delegated.text);
    // An invalid value and a valid one.
    let wrong = peer.call("node_submit", json!({"ticket": ticket, "value": {"reason": "r", "score": 7}}));
    assert_eq!(wrong.structured["status"], "rejected");
    assert_eq!((wrong.is_error, &wrong.structured["attempts_left"]), (false, &json!(1)));
    assert!(wrong.text.contains("/score: it is greater than the maximum of 5, got 7"), "{}", wrong.text);
    let value = json!({"reason": "r", "score": 4});
    let id =
        peer.request("tools/call", json!({"name": "node_submit", "arguments": {"ticket": ticket, "value": value}}));
    let right = peer.response(id)["result"].clone();
    assert_eq!(
        (&right["structuredContent"]["status"], &right["structuredContent"]["value"]),
        (&json!("accepted"), &value)
    );
    assert_eq!(right["_meta"]["hob/ledger"]["attempts"][0]["via"], "delegate");
    // Repeating the same value succeeds; a different value changes nothing.
    assert_eq!(submit(&mut peer, ticket, value.clone()), right["structuredContent"]);
    let again = submit(&mut peer, ticket, json!({"reason": "other", "score": 1}));
    assert_eq!((&again["status"], &again["value"]), (&json!("accepted"), &value));
    // A forged ticket.
    let other = if ticket.starts_with('A') { 'B' } else { 'A' };
    let forged = format!("{other}{}", &ticket[1..]);
    assert_eq!(submit(&mut peer, &forged, value.clone())["status"], "unknown");
    assert_eq!(submit(&mut peer, "please", value)["status"], "unknown");
    // After repeated invalid values, the agent is told to stop, with any ticket.
    let wrong = || json!({"reason": "r", "score": 9});
    let other = |peer: &mut McpPeer| {
        peer.call("rate", json!({"text": "Again."})).structured["delegate"]["ticket"].as_str().unwrap().to_owned()
    };
    let (one, two) = (other(&mut peer), other(&mut peer));
    assert_eq!(submit(&mut peer, &one, wrong())["status"], "rejected");
    assert_eq!(submit(&mut peer, &two, wrong())["status"], "rejected");
    let third = other(&mut peer);
    for ticket in [&one, &third, &two] {
        let stopped = submit(&mut peer, ticket, wrong());
        let (problem, words) = (&stopped["problems"][0], stopped["tell_user"].as_str().unwrap());
        assert_eq!((&stopped["status"], stopped["next"].as_str().unwrap().starts_with("Stop")), (&json!("stop"), true));
        assert!(words.contains("rate") && words.contains(problem.as_str().unwrap()), "{words}");
    }
    for status in ["unknown", "unknown", "stop"] {
        assert_eq!(submit(&mut peer, "please", wrong())["status"], status);
    }
    // An invalid input.
    let misspelt = peer.call("rate", json!({"txt": "It rained."}));
    assert!(misspelt.is_error && misspelt.text.contains("\"text\" is missing"), "{misspelt:?}");
}

#[test]
fn what_an_answer_took_is_counted_once() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let ticket = begin(&mut peer);
    let mut ledger = |score: u8, tokens: Value| {
        let mut arguments = json!({"ticket": ticket, "value": {"reason": "r", "score": score}});
        if !tokens.is_null() {
            arguments["tokens"] = tokens;
        }
        let result = peer.result("tools/call", json!({"name": "node_submit", "arguments": arguments}));
        let ledger = &result["_meta"]["hob/ledger"];
        (ledger["attempts"][0].clone(), ledger["total"].clone())
    };
    let (attempt, total) = ledger(7, json!({"in": 100, "out": 20}));
    assert_eq!((&attempt["class"], &attempt["tokens"]), (&json!("invalid"), &json!({"in": 100, "out": 20})));
    assert!(attempt["problems"][0].as_str().is_some_and(|problem| problem.contains("got 7")), "{attempt}");
    assert_eq!(total, json!({"tokens": 120, "complete": true, "cost": null}));
    // The same submission again, as after a lost answer.
    ledger(7, json!({"in": 100, "out": 20}));
    // A caller that does not know the costs omits them.
    let (attempt, total) = ledger(4, Value::Null);
    assert_eq!((&attempt["class"], &attempt["tokens"]), (&json!("done"), &Value::Null));
    assert_eq!(total, json!({"tokens": 0, "complete": false, "cost": null}));
    ledger(4, json!({"in": 5, "out": 5}));
    let usage = project.run(["node", "usage"]).ok();
    assert!(
        usage.contains("rate on delegate: 2 attempts (1 failed, 1 without counts), 100 tokens in, 20 out\n0 of 200000"),
        "{usage}"
    );
}

#[test]
fn a_value_that_is_nested_too_deeply_is_said_to_be() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let ticket = begin(&mut peer);
    let deep = (0..200).fold(json!(1), |value, _| json!([value]));
    for (tool, arguments) in [
        ("node_submit", json!({"ticket": ticket, "value": deep})),
        ("node_run", json!({"node": "rate", "input": {"text": deep}})),
        ("rate", json!({"text": deep})),
    ] {
        let said = peer.call(tool, arguments);
        let is_said = said.text.contains("it is nested too deeply; write it with at most 120 levels");
        assert!(said.is_error && is_said, "{tool}: {said:?}");
    }
}

#[test]
fn a_ticket_is_its_agents_alone() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    let mut ada = project.mcp(&["--as", "ada"]);
    let mut bob = project.mcp(&["--as", "bob"]);
    ada.initialize();
    bob.initialize();
    let ticket = begin(&mut ada);
    let value = json!({"reason": "r", "score": 4});
    assert_eq!(submit(&mut bob, &ticket, value.clone())["status"], "unknown");
    assert_eq!(submit(&mut ada, &ticket, value)["status"], "accepted");
}

#[test]
fn a_ticket_outlives_its_daemon() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let (ticket, answered) = (begin(&mut peer), begin(&mut peer));
    let value = json!({"reason": "r", "score": 4});
    assert_eq!(submit(&mut peer, &answered, value.clone())["status"], "accepted");
    let daemon = project.daemon_pid().expect("a daemon after a call");
    kill_hard(daemon);
    until("the daemon to end", || (!is_alive(daemon)).then_some(()));
    assert_eq!(submit(&mut peer, &ticket, value.clone())["status"], "accepted");
    let other = json!({"reason": "other", "score": 1});
    assert_eq!(submit(&mut peer, &answered, other)["value"], value, "answered once, over a restart too");
    // In another project, the ticket is invalid.
    let elsewhere = fresh();
    elsewhere.write("nodes/rate.node.md", RATE);
    let mut stranger = elsewhere.mcp(&[]);
    stranger.initialize();
    assert_eq!(submit(&mut stranger, &ticket, value)["status"], "unknown");
}

//! Delegated calls: tickets, and the values submitted with them.

use std::sync::atomic::{AtomicU64, Ordering};

use expect_test::expect;
use nodes::delegate::{Delegation, Submitted};
use nodes::{Models, Node};
use serde_json::{Map, Value, json};

const NODE: &str = r#"---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { reason: string ..50, score: integer 1..5 } }
policy: { attempts: 2 }
checks: [ { that: "output.score < 5 or input.text == 'perfect'", say: "only what is perfect gets a 5" } ]
---
{% block system %}You rate texts.{% endblock %}{% block user %}{{ text | data }}{% endblock %}
"#;

fn node() -> Node {
    Node::parse("rate", NODE).expect("valid")
}

fn input(text: &str) -> Map<String, Value> {
    Map::from_iter([("text".to_owned(), text.into())])
}

fn noon() -> u64 {
    1_000_000
}

#[test]
fn without_a_model_the_caller_answers() {
    let place = tempfile::tempdir().expect("a directory");
    let calls = Delegation::at(Some([7; 32]), place.path().join("nodes/delegated"), noon);
    assert!(Models::default().delegates(&node()));
    let asked = calls.begin(&node(), input("fine"), "me").expect("begun");
    assert_eq!((asked.expires, asked.attempts, asked.messages.len()), (1_003_600, 2, 2));
    assert_eq!(asked.messages[0].text, "You rate texts.");
    // A wrong value, the same again, and another wrong one use up the ticket.
    let submit = |value: Value| format!("{:?}", calls.submit(&asked.ticket, value, "me").expect("kept"));
    let wrong = json!({"reason": "r", "score": 9});
    expect![[r#"Rejected { node: "rate", node_hash: "87e71ebfb2fc7c39", problems: ["/score: it is greater than the maximum of 5, got 9"], attempts_left: 1, is_repeated: false }"#]]
        .assert_eq(&submit(wrong.clone()));
    expect![[r#"Rejected { node: "rate", node_hash: "87e71ebfb2fc7c39", problems: ["/score: it is greater than the maximum of 5, got 9"], attempts_left: 1, is_repeated: true }"#]].assert_eq(&submit(wrong));
    expect![[r#"Rejected { node: "rate", node_hash: "87e71ebfb2fc7c39", problems: ["only what is perfect gets a 5"], attempts_left: 0, is_repeated: false }"#]]
        .assert_eq(&submit(json!({"reason": "r", "score": 5})));
    // A correct value after that is rejected without the problems of other values.
    expect![[r#"Spent { node: "rate" }"#]].assert_eq(&submit(json!({"reason": "r", "score": 4})));
}

#[test]
fn a_ticket_is_answered_once_and_over_a_restart() {
    let place = tempfile::tempdir().expect("a directory");
    let open = || Delegation::at(Some([7; 32]), place.path().to_owned(), noon);
    let ticket = open().begin(&node(), input("perfect"), "me").expect("begun").ticket;
    let value = json!({"reason": "r", "score": 5});
    // After a restart of the daemon; the value is written as a text, as models do.
    let accepted = open().submit(&ticket, json!(value.to_string()), "me").expect("kept");
    let is = |submitted: Submitted, again: bool| match submitted {
        Submitted::Accepted { value: accepted, was_answered, node_hash, .. } => {
            assert_eq!((accepted, was_answered, node_hash), (value.clone(), again, node().hash));
        }
        other => panic!("{other:?}"),
    };
    is(accepted, false);
    is(open().submit(&ticket, value.clone(), "me").expect("kept"), false);
    is(open().submit(&ticket, json!({"reason": "other", "score": 1}), "me").expect("kept"), true);
}

#[test]
fn a_foreign_forged_or_old_ticket_is_none() {
    static NOW: AtomicU64 = AtomicU64::new(1_000_000);
    let place = tempfile::tempdir().expect("a directory");
    let calls = Delegation::at(Some([7; 32]), place.path().to_owned(), || NOW.load(Ordering::Relaxed));
    let ticket = calls.begin(&node(), input("a"), "me").expect("begun").ticket;
    let value = || json!({"reason": "r", "score": 1});
    assert_eq!(calls.submit(&ticket, value(), "you").expect("read"), Submitted::Unknown { in_a_row: 1 });
    let other = Delegation::at(Some([8; 32]), place.path().to_owned(), noon);
    assert_eq!(other.submit(&ticket, value(), "me").expect("read"), Submitted::Unknown { in_a_row: 1 });
    assert_eq!(calls.submit(&ticket[1..], value(), "me").expect("read"), Submitted::Unknown { in_a_row: 1 });
    // The record on disk must match the ticket: another prompt or input is refused.
    let file = std::fs::read_dir(place.path()).expect("there").next().expect("a file").expect("read").path();
    let kept = std::fs::read_to_string(&file).expect("read");
    std::fs::write(&file, kept.replace("You rate", "I rate")).expect("written");
    assert_eq!(calls.submit(&ticket, value(), "me").expect("read"), Submitted::Unknown { in_a_row: 2 });
    std::fs::write(&file, kept.replace("\"input\":{\"text\":\"a\"}", "\"input\":{\"text\":\"b\"}")).expect("written");
    assert_eq!(calls.submit(&ticket, value(), "me").expect("read"), Submitted::Unknown { in_a_row: 3 });
    std::fs::write(&file, kept).expect("written");
    NOW.fetch_add(3600, Ordering::Relaxed);
    assert_eq!(calls.submit(&ticket, value(), "me").expect("read"), Submitted::Expired { in_a_row: 4 });
    // The next call removes expired records.
    calls.begin(&node(), input("a"), "me").expect("begun");
    assert_eq!(std::fs::read_dir(place.path()).expect("there").count(), 1);
}

#[test]
fn a_caller_that_does_not_get_it_right_is_told_to_stop() {
    let place = tempfile::tempdir().expect("a directory");
    // The count survives a restart.
    let open = || Delegation::at(Some([7; 32]), place.path().to_owned(), noon);
    let ticket = |text: &str, who: &str| open().begin(&node(), input(text), who).expect("begun").ticket;
    let submit = |ticket: &str, score: u32, who: &str| match open()
        .submit(ticket, json!({"reason": "r", "score": score}), who)
        .expect("kept")
    {
        Submitted::Rejected { attempts_left, .. } => format!("rejected, {attempts_left} left"),
        Submitted::Stopped { problems, values, .. } => format!("stopped after {values}: {}", problems.join("; ")),
        other => format!("{other:?}"),
    };
    let wrong = "/score: it is greater than the maximum of 5, got 9";
    let first = ticket("a", "me");
    assert_eq!(submit(&first, 9, "me"), "rejected, 1 left");
    assert_eq!(submit(&first, 9, "me"), "rejected, 1 left");
    // The third equal value, with the same ticket or a new one, and each later one.
    let second = ticket("a", "me");
    assert_eq!(submit(&second, 9, "me"), format!("stopped after 3: {wrong}"));
    assert_eq!(submit(&first, 9, "me"), format!("stopped after 4: {wrong}"));
    // Other callers and inputs are counted separately.
    assert_eq!(submit(&ticket("a", "you"), 9, "you"), "rejected, 1 left");
    let other = ticket("b", "me");
    assert_eq!(submit(&other, 9, "me"), "rejected, 1 left");
    // Different wrong values count too.
    assert_eq!(submit(&other, 8, "me"), "rejected, 0 left");
    assert_eq!(
        submit(&ticket("b", "me"), 7, "me"),
        "stopped after 3: /score: it is greater than the maximum of 5, got 7"
    );
    // A correct value is accepted regardless of earlier ones.
    let right = submit(&ticket("b", "me"), 4, "me");
    assert!(right.starts_with("Accepted"), "{right}");
    // A correct value with a used up ticket: the caller is told twice to get a new ticket.
    let spent = ticket("c", "me");
    let told: Vec<String> = [9, 8, 4, 4, 4].into_iter().map(|score| submit(&spent, score, "me")).collect();
    assert_eq!(told[2..4], [r#"Spent { node: "rate" }"#, r#"Spent { node: "rate" }"#]);
    assert_eq!(told[4], "stopped after 5: /score: it is greater than the maximum of 5, got 8");
}

#[test]
fn tickets_that_are_not_valid_are_counted() {
    let place = tempfile::tempdir().expect("a directory");
    let calls = Delegation::at(Some([7; 32]), place.path().to_owned(), noon);
    let submit = |ticket: &str, who: &str| calls.submit(ticket, json!({"reason": "r", "score": 9}), who).expect("kept");
    for in_a_row in 1..=3 {
        assert_eq!(submit("nonsense", "me"), Submitted::Unknown { in_a_row });
    }
    assert_eq!(submit("nonsense", "you"), Submitted::Unknown { in_a_row: 1 });
    submit(&calls.begin(&node(), input("a"), "me").expect("begun").ticket, "me");
    assert_eq!(submit("nonsense", "me"), Submitted::Unknown { in_a_row: 1 });
}

#[test]
fn invalid_calls_are_not_delegated() {
    let place = tempfile::tempdir().expect("a directory");
    let calls = Delegation::at(Some([7; 32]), place.path().to_owned(), noon);
    let error = calls.begin(&node(), Map::new(), "me").expect_err("no input");
    expect![[r#"invalid input for rate: "text" is missing"#]].assert_eq(&error.to_string());
    for _ in 0..256 {
        calls.begin(&node(), input("a"), "me").expect("begun");
    }
    let error = calls.begin(&node(), input("a"), "me").expect_err("too many");
    expect!["the call could not be kept for its answer: 256 delegated calls wait for node_submit, the limit; answer some, or wait an hour"].assert_eq(&error.to_string());
}

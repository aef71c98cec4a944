//! The handshake and its replay, and announcements to the agent about the next daemon's lists.

use super::*;

#[test]
fn before_the_first_connection_everything_waits_in_order() {
    let mut ledger = Ledger::default();
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "rubbish",
        LIST,
        CALL.replace("\"id\":1", "\"id\":9").as_str(),
    ] {
        ledger.agent_said(line.as_bytes());
    }
    ledger.agent_said(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#);
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"initialize"}
        {"jsonrpc":"2.0","method":"notifications/initialized"}
        rubbish
        {"jsonrpc":"2.0","id":2,"method":"tools/list"}
    "#]]
    .assert_eq(&outbox(&mut ledger));
}

#[test]
fn an_initialize_on_its_way_is_sent_again_with_what_followed() {
    let mut ledger = connected();
    send(&mut ledger, r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    send(&mut ledger, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    ledger.record_lost_connection();
    ledger.resume(LossReason::Replaced);
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"initialize"}
        {"jsonrpc":"2.0","method":"notifications/initialized"}
    "#]]
    .assert_eq(&outbox(&mut ledger));
}

#[test]
fn the_handshake_is_replayed_and_its_answers_swallowed() {
    let mut ledger = connected();
    for (line, answer) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
        ),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, ""),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"b"}}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"resources/unsubscribe","params":{"uri":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
        ),
        (r#"{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{}}"#, ""),
    ] {
        send(&mut ledger, line);
        if !answer.is_empty() {
            assert_eq!(ledger.daemon_said(answer.as_bytes()), Verdict::Forward);
        }
    }
    let acknowledged = br#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}"#;
    assert_eq!(ledger.daemon_said(acknowledged), Verdict::Forward);
    ledger.record_lost_connection();
    assert!(!ledger.needs_daemon() && ledger.listens());
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    let replayed = ledger.take_outbox();
    expect![[r#"
        {"jsonrpc":"2.0","id":"hob-replay-R-0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
        {"jsonrpc":"2.0","method":"notifications/initialized"}
        {"jsonrpc":"2.0","id":"hob-replay-R-1","method":"logging/setLevel","params":{"level":"info"}}
        {"jsonrpc":"2.0","id":"hob-replay-R-2","method":"resources/subscribe","params":{"uri":"b"}}
        {"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{}}
    "#]]
    .assert_eq(&hide_marks(std::str::from_utf8(&replayed).unwrap()));
    assert_eq!(ledger.daemon_said(acknowledged), Verdict::Swallow);
    for line in replayed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let envelope = Envelope::peek(line).unwrap();
        let Some(id) = envelope.raw_id().filter(|id| id.starts_with("\"hob-replay")) else { continue };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(ledger.daemon_said(answer.as_bytes()), Verdict::Swallow);
    }
}

#[test]
fn an_agent_hears_that_the_next_daemon_has_other_tools() {
    let mut ledger = connected();
    ledger.on_hello_ack(&daemon("a", &[]), true);
    for (line, answer) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}}}"#,
        ),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, ""),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["b"]}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}"#,
        ),
    ] {
        send(&mut ledger, line);
        ledger.daemon_said(answer.as_bytes());
    }
    let mut next = |listing: &str, is_new_life: bool| {
        ledger.record_lost_connection();
        ledger.resume(if is_new_life { LossReason::Replaced } else { LossReason::SameLife });
        ledger.on_hello_ack(&daemon(listing, &[]), is_new_life)
    };
    check(next("a", false), expect![""]);
    check(
        next("b", true),
        expect![[r#"
            {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
            {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}
            {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a"}}
            {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}
            {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"},"uri":"b"}}
        "#]],
    );
    // The agent was told of a new list: the next daemon is compared with the previous one.
    ledger.daemon_said(br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    ledger.record_lost_connection();
    ledger.resume(LossReason::SameLife);
    let lines = ledger.on_hello_ack(&daemon("b", &[]), false);
    assert_eq!(String::from_utf8(lines).unwrap().matches("tools/list_changed").count(), 2);
}

#[test]
fn an_agent_that_was_promised_nothing_hears_nothing() {
    let mut ledger = connected();
    ledger.on_hello_ack(&daemon("a", &[]), true);
    send(&mut ledger, r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    ledger.daemon_said(br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#);
    send(&mut ledger, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    ledger.record_lost_connection();
    ledger.resume(LossReason::Replaced);
    check(ledger.on_hello_ack(&daemon("b", &[]), true), expect![""]);
}

#[test]
fn what_changed_the_last_connection_changes_the_next_one_once() {
    let mut ledger = connected();
    let call = |id: u32, toolset: &str| {
        let params = format!(r#"{{"name":"more_tools","arguments":{{"toolset":"{toolset}"}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    for (id, toolset) in [(1, "repl"), (2, "mail"), (3, "repl")] {
        send(&mut ledger, &call(id, toolset));
        ledger.daemon_said(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).as_bytes());
    }
    // An unanswered one is an ordinary request.
    send(&mut ledger, &call(4, "cure"));
    for _ in 0..2 {
        ledger.record_lost_connection();
        assert!(ledger.resume(LossReason::Replaced).is_empty());
        expect![[r#"
            {"jsonrpc":"2.0","id":"hob-replay-R-0","method":"tools/call","params":{"name":"more_tools","arguments":{"toolset":"repl"}}}
            {"jsonrpc":"2.0","id":"hob-replay-R-1","method":"tools/call","params":{"name":"more_tools","arguments":{"toolset":"mail"}}}
            {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"more_tools","arguments":{"toolset":"cure"}}}
        "#]]
        .assert_eq(&outbox(&mut ledger));
    }
}

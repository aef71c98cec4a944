//! Calls of a lost daemon that are repeated, and those that are given up.

use super::*;

#[test]
fn a_delivered_call_is_failed_and_the_rest_is_sent_again() {
    let mut ledger = connected();
    send(&mut ledger, CALL);
    send(&mut ledger, LIST);
    ledger.agent_said(CALL.replace("\"id\":1", "\"id\":3").as_bytes());
    let unwritten = ledger.take_outbox().len();
    ledger.wrote(unwritten - 2);
    assert!(ledger.record_lost_connection().is_empty());
    check(
        ledger.resume(LossReason::Replaced),
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"The connection to the hob daemon was lost during `repl_eval`: the call may have run in full or in part, and its result is lost. A new daemon is running. The session `s` ended with the old one: list shows what there is. Before you repeat the call, make sure that running it twice does no harm."}],"isError":true}}
        "#]],
    );
    expect![[r#"
        {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"repl_eval","arguments":{"session":"s"}}}
    "#]]
    .assert_eq(&outbox(&mut ledger));
    assert_eq!(ledger.daemon_said(br#"{"jsonrpc":"2.0","id":3,"result":{}}"#), Verdict::Forward);
}

#[test]
fn a_call_of_a_tool_that_only_reads_is_sent_again() {
    let mut ledger = connected();
    assert!(ledger.on_hello_ack(&daemon("a", &["repl_list", "repl_read"]), true).is_empty());
    let read = CALL.replace("repl_eval", "repl_read");
    send(&mut ledger, &read);
    // One may have had an effect; the other was lost before.
    send(&mut ledger, &CALL.replace("\"id\":1", "\"id\":2"));
    ledger.record_lost_connection();
    assert!(ledger.can_be_resent());
    let answers = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(answers.contains("\"id\":2") && !answers.contains("\"id\":1"), "{answers}");
    assert_eq!(outbox(&mut ledger), read + "\n");
    // The daemon that had the call determines its possible effect.
    ledger.on_hello_ack(&daemon("a", &[]), true);
    assert!(ledger.needs_daemon());
    assert_eq!(ledger.daemon_said(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Verdict::Forward);
    assert!(!ledger.needs_daemon());
}

#[test]
fn a_batch_of_reading_calls_is_sent_again() {
    let mut ledger = connected_with_batches();
    ledger.on_hello_ack(&daemon("a", &["repl_read"]), true);
    let reading = format!("[{},{LIST}]", CALL.replace("repl_eval", "repl_read"));
    send(&mut ledger, &reading);
    ledger.record_lost_connection();
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    assert!(outbox(&mut ledger).ends_with(&(reading + "\n")));
}

#[test]
fn a_send_with_a_key_is_made_again() {
    let mut ledger = connected();
    let send_once = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"send_message","arguments":{"to":"b","content":"x","idempotency_key":"k"}}}"#;
    send(&mut ledger, send_once);
    ledger.record_lost_connection();
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    let resent = ledger.take_outbox();
    assert_eq!(resent, format!("{send_once}\n").as_bytes());
    ledger.wrote(resent.len());
    ledger.daemon_said(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    // Without a key the agent must decide, and also if several daemons died over the call.
    send(&mut ledger, &send_once.replace(r#","idempotency_key":"k""#, ""));
    ledger.record_lost_connection();
    let said = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(said.contains("its result is lost. Search for it.\""), "{said}");
    send(&mut ledger, send_once);
    for _ in 1..DELIVERIES {
        ledger.record_lost_connection();
        assert!(ledger.resume(LossReason::Replaced).is_empty());
        write_outbox(&mut ledger);
    }
    ledger.record_lost_connection();
    let said = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(said.contains("its result is lost. Call it again.\""), "{said}");
}

#[test]
fn a_whole_line_without_its_end_counts_as_delivered() {
    let mut ledger = connected();
    ledger.agent_said(CALL.as_bytes());
    let bytes = ledger.take_outbox().len();
    ledger.wrote(bytes - 1);
    ledger.record_lost_connection();
    assert!(String::from_utf8(ledger.resume(LossReason::SameLife)).unwrap().contains("The session `s` continues"));
    assert!(ledger.take_outbox().is_empty());
}

#[test]
fn what_the_daemon_left_unread_is_sent_again() {
    let mut ledger = connected();
    send(&mut ledger, CALL);
    let second = CALL.replace("\"id\":1", "\"id\":3");
    send(&mut ledger, &second);
    ledger.left_unread();
    ledger.record_lost_connection();
    // Only the last call is certain.
    let said = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(said.contains("\"id\":1") && said.contains("may have run") && !said.contains("\"id\":3"), "{said}");
    assert_eq!(outbox(&mut ledger), second.clone() + "\n");
    // Data left unread by one daemon says nothing about the next.
    ledger.wrote(second.len() + 1);
    ledger.record_lost_connection();
    assert!(String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap().contains("may have run"));
    // A request that no daemon reads is also given up; it had no effect.
    send(&mut ledger, CALL);
    for _ in 1..DELIVERIES {
        ledger.left_unread();
        ledger.record_lost_connection();
        assert!(ledger.resume(LossReason::Replaced).is_empty());
        write_outbox(&mut ledger);
    }
    ledger.left_unread();
    ledger.record_lost_connection();
    let said = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(said.contains("repeatedly ended") && said.contains("\"mayHaveRun\":false"), "{said}");
}

#[test]
fn without_a_daemon_every_request_hears_why() {
    let mut ledger = Ledger::default();
    ledger.agent_said(br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    ledger.agent_said(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    check(
        ledger.give_up_all(&LossReason::Unreachable("no room; make some".into())),
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no hob daemon is reachable: no room; make some","data":{"reason":"no_daemon","mayHaveRun":false}}}
        "#]],
    );
    assert!(!ledger.needs_daemon());
}

#[test]
fn a_request_that_kills_daemons_is_given_up() {
    let mut ledger = connected();
    send(&mut ledger, LIST);
    for _ in 0..DELIVERIES - 1 {
        ledger.record_lost_connection();
        assert!(ledger.resume(LossReason::Replaced).is_empty());
        write_outbox(&mut ledger);
    }
    ledger.record_lost_connection();
    assert!(String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap().contains("repeatedly ended"));
}

//! The ledger alone: lines in, lines out.

use super::*;
use expect_test::{Expect, expect};
use project::{Repeat, RepeatRule};

fn connected() -> Ledger {
    let mut ledger = Ledger::default();
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    assert!(ledger.on_hello_ack(&daemon("a", &[]), true).is_empty());
    ledger
}

/// A daemon's hello, with a list of tools and of those that only read.
fn daemon(listing: &str, read_only: &[&str]) -> HelloAck {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let rule = |tools: &[&str], how| RepeatRule { tools: names(tools), how };
    let [restarted, reconnected, advice, keyed_advice] =
        ["list shows what there is.", "wait waits for what still runs.", "Search for it.", "Call it again."]
            .map(str::to_owned);
    let repeat = vec![
        rule(&["repl_eval", "repl_read"], Repeat::Unsafe { restarted, reconnected }),
        rule(&["wait_for_message"], Repeat::HandsOut { receipt: "message_id".to_owned() }),
        rule(&["send_message"], Repeat::Keyed { argument: "idempotency_key".to_owned(), advice, keyed_advice }),
    ];
    let (listing, read_only) = (listing.to_owned(), names(read_only));
    HelloAck { listing, read_only, repeat: Some(repeat), ..HelloAck::accepted(1, "life") }
}

/// Sends a line and has all of it written.
fn send(ledger: &mut Ledger, line: &str) {
    ledger.agent_said(line.as_bytes());
    let bytes = ledger.take_outbox().len();
    ledger.wrote(bytes);
}

fn outbox(ledger: &mut Ledger) -> String {
    hide_marks(&String::from_utf8(ledger.take_outbox()).unwrap())
}

/// Replaces random text: 16 hexadecimal digits between dashes.
fn hide_marks(text: &str) -> String {
    let is_mark = |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split('-').map(|part| if is_mark(part) { "R" } else { part }).collect::<Vec<_>>().join("-")
}

fn check(text: Vec<u8>, expected: Expect) {
    expected.assert_eq(&String::from_utf8(text).unwrap());
}

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"repl_eval","arguments":{"session":"s"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[test]
fn a_delivered_call_is_failed_and_the_rest_is_sent_again() {
    let mut ledger = connected();
    send(&mut ledger, CALL);
    send(&mut ledger, LIST);
    ledger.agent_said(CALL.replace("\"id\":1", "\"id\":3").as_bytes());
    let unwritten = ledger.take_outbox().len();
    ledger.wrote(unwritten - 2);
    assert!(ledger.lost().is_empty());
    check(
        ledger.resume(LossReason::Replaced),
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"The hob daemon went away while it had `repl_eval`: the call may have run, wholly or in part, and its result is lost. A new daemon runs. The session `s` ended with the old one: list shows what there is. Before you repeat the call, make sure that running it twice does no harm."}],"isError":true}}
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
    ledger.lost();
    assert!(ledger.can_be_resent());
    let answers = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(answers.contains("\"id\":2") && !answers.contains("\"id\":1"), "{answers}");
    assert_eq!(outbox(&mut ledger), read + "\n");
    // What the call could do depends on the daemon that had it.
    ledger.on_hello_ack(&daemon("a", &[]), true);
    assert!(ledger.needs_daemon());
    assert_eq!(ledger.daemon_said(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Verdict::Forward);
    assert!(!ledger.needs_daemon());
}

#[test]
fn a_batch_of_reading_calls_is_sent_again() {
    let mut ledger = connected();
    ledger.on_hello_ack(&daemon("a", &["repl_read"]), true);
    send(&mut ledger, r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#);
    ledger.daemon_said(br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-03-26"}}"#);
    let reading = format!("[{},{LIST}]", CALL.replace("repl_eval", "repl_read"));
    send(&mut ledger, &reading);
    ledger.lost();
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    assert!(outbox(&mut ledger).ends_with(&(reading + "\n")));
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
        ledger.lost();
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
    // The agent heard of a new list: the next daemon is compared with the one from before.
    ledger.daemon_said(br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    ledger.lost();
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
    ledger.lost();
    ledger.resume(LossReason::Replaced);
    check(ledger.on_hello_ack(&daemon("b", &[]), true), expect![""]);
}

#[test]
fn a_waiter_survives_its_daemon() {
    let mut ledger = connected();
    let wait = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait_for_message","arguments":{}}}"#;
    assert_eq!(ledger.lost_hand_outs(), (false, None));
    send(&mut ledger, wait);
    ledger.lost();
    assert_eq!(ledger.lost_hand_outs(), (true, None), "the next daemon is told that an answer may be lost");
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    assert_eq!(outbox(&mut ledger), format!("{wait}\n"));
    // This daemon dies before it reads anything: the first hand-out is still unconfirmed.
    ledger.lost();
    assert_eq!(ledger.lost_hand_outs(), (true, None));
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    assert_eq!(outbox(&mut ledger), format!("{wait}\n"));
    ledger
        .daemon_said(br#"{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"message":{"message_id":"msg_A"}}}}"#);
    assert_eq!(ledger.lost_hand_outs(), (false, Some("msg_A".to_owned())));
}

const WAIT: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait_for_message","arguments":{}}}"#;
const MAIL: &[u8] = br#"{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"message":{"message_id":"msg_A"}}}}"#;
const GIVE_UP: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;

#[test]
fn a_receipt_says_nothing_of_calls_that_were_made_before_it_came() {
    let mut ledger = connected();
    let (first, second) = (WAIT, WAIT.replace("7", "8"));
    send(&mut ledger, first);
    send(&mut ledger, &second);
    ledger.daemon_said(MAIL);
    assert_eq!(ledger.lost_hand_outs(), (false, Some("msg_A".to_owned())), "nothing is lost yet");
    ledger.lost();
    assert_eq!(ledger.lost_hand_outs(), (true, None), "the second may have run beside the first");
    ledger.resume(LossReason::Replaced);
    let bytes = ledger.take_outbox().len();
    ledger.wrote(bytes);
    ledger.daemon_said(&String::from_utf8_lossy(MAIL).replace("7", "8").replace("msg_A", "msg_B").into_bytes());
    send(&mut ledger, first);
    ledger.lost();
    assert_eq!(ledger.lost_hand_outs(), (true, Some("msg_B".to_owned())), "made after that answer");
    // Several at once, or in one batch.
    ledger.resume(LossReason::Replaced);
    send(&mut ledger, &second);
    ledger.lost();
    assert_eq!(ledger.lost_hand_outs(), (true, None));
}

#[test]
fn an_answer_with_mail_that_the_agent_gave_up_is_told_of() {
    // Cancelled before the answer came.
    let mut ledger = connected();
    send(&mut ledger, WAIT);
    send(&mut ledger, GIVE_UP);
    ledger.lost();
    assert_eq!(ledger.lost_hand_outs(), (true, None));
    // Cancelled while the answer was on its way: the next daemon must not rely on the previous receipt.
    let mut ledger = connected();
    send(&mut ledger, WAIT);
    ledger.daemon_said(MAIL);
    assert_eq!(ledger.lost_hand_outs(), (false, Some("msg_A".to_owned())));
    ledger.lost();
    ledger.agent_said(GIVE_UP.as_bytes());
    assert_eq!(ledger.lost_hand_outs(), (true, None));
    // A later call settles it.
    ledger.resume(LossReason::Replaced);
    send(&mut ledger, &WAIT.replace("7", "8"));
    ledger.daemon_said(&String::from_utf8_lossy(MAIL).replace("7", "8").replace("msg_A", "msg_B").into_bytes());
    assert_eq!(ledger.lost_hand_outs(), (false, Some("msg_B".to_owned())));
}

#[test]
fn where_the_daemon_does_not_say_what_hands_something_out_each_call_may_have() {
    let mut ledger = Ledger::default();
    ledger.resume(LossReason::Replaced);
    // A daemon that is too old to send rules.
    ledger.on_hello_ack(&HelloAck { repeat: None, ..daemon("a", &["repl_read"]) }, true);
    send(&mut ledger, &WAIT.replace("wait_for_message", "repl_read"));
    ledger.lost();
    assert_eq!(ledger.lost_hand_outs(), (false, None), "it only reads");
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    let bytes = ledger.take_outbox().len();
    ledger.wrote(bytes);
    ledger.daemon_said(MAIL);
    send(&mut ledger, WAIT);
    ledger.lost();
    assert_eq!(ledger.lost_hand_outs(), (true, None));
    let said = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(said.contains("`wait_for_message`: the call may have run"), "{said}");
}

#[test]
fn a_send_with_a_key_is_made_again() {
    let mut ledger = connected();
    let send_once = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"send_message","arguments":{"to":"b","content":"x","idempotency_key":"k"}}}"#;
    send(&mut ledger, send_once);
    ledger.lost();
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    let resent = ledger.take_outbox();
    assert_eq!(resent, format!("{send_once}\n").as_bytes());
    ledger.wrote(resent.len());
    ledger.daemon_said(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    // Without a key the agent has to decide; so it does with one that no daemon survives.
    send(&mut ledger, &send_once.replace(r#","idempotency_key":"k""#, ""));
    ledger.lost();
    let said = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(said.contains("its result is lost. Search for it.\""), "{said}");
    send(&mut ledger, send_once);
    for _ in 1..DELIVERIES {
        ledger.lost();
        assert!(ledger.resume(LossReason::Replaced).is_empty());
        let bytes = ledger.take_outbox().len();
        ledger.wrote(bytes);
    }
    ledger.lost();
    let said = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(said.contains("its result is lost. Call it again.\""), "{said}");
}

#[test]
fn a_whole_line_without_its_end_counts_as_delivered() {
    let mut ledger = connected();
    ledger.agent_said(CALL.as_bytes());
    let bytes = ledger.take_outbox().len();
    ledger.wrote(bytes - 1);
    ledger.lost();
    assert!(String::from_utf8(ledger.resume(LossReason::SameLife)).unwrap().contains("The session `s` lives on"));
    assert!(ledger.take_outbox().is_empty());
}

#[test]
fn what_the_daemon_left_unread_is_sent_again() {
    let mut ledger = connected();
    send(&mut ledger, CALL);
    let second = CALL.replace("\"id\":1", "\"id\":3");
    send(&mut ledger, &second);
    ledger.left_unread();
    ledger.lost();
    // Only the last call is certain.
    let said = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(said.contains("\"id\":1") && said.contains("may have run") && !said.contains("\"id\":3"), "{said}");
    assert_eq!(outbox(&mut ledger), second.clone() + "\n");
    // What one daemon left unread says nothing about the next.
    ledger.wrote(second.len() + 1);
    ledger.lost();
    assert!(String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap().contains("may have run"));
    // A request that no daemon reads is also given up; it had no effect.
    send(&mut ledger, CALL);
    for _ in 1..DELIVERIES {
        ledger.left_unread();
        ledger.lost();
        assert!(ledger.resume(LossReason::Replaced).is_empty());
        let bytes = ledger.take_outbox().len();
        ledger.wrote(bytes);
    }
    ledger.left_unread();
    ledger.lost();
    let said = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(said.contains("again and again") && said.contains("\"mayHaveRun\":false"), "{said}");
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
    ledger.lost();
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
fn an_initialize_on_its_way_is_sent_again_with_what_followed() {
    let mut ledger = connected();
    send(&mut ledger, r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    send(&mut ledger, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    ledger.lost();
    ledger.resume(LossReason::Replaced);
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"initialize"}
        {"jsonrpc":"2.0","method":"notifications/initialized"}
    "#]]
    .assert_eq(&outbox(&mut ledger));
}

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
fn without_a_daemon_every_request_hears_why() {
    let mut ledger = Ledger::default();
    ledger.agent_said(br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    ledger.agent_said(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    check(
        ledger.give_up_all(&LossReason::Unreachable("no room; make some".into())),
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"hob has no daemon to ask: no room; make some","data":{"reason":"no_daemon","mayHaveRun":false}}}
        "#]],
    );
    assert!(!ledger.needs_daemon());
}

#[test]
fn a_request_that_kills_daemons_is_given_up() {
    let mut ledger = connected();
    send(&mut ledger, LIST);
    for _ in 0..DELIVERIES - 1 {
        ledger.lost();
        assert!(ledger.resume(LossReason::Replaced).is_empty());
        let bytes = ledger.take_outbox().len();
        ledger.wrote(bytes);
    }
    ledger.lost();
    assert!(String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap().contains("again and again"));
}

#[test]
fn questions_belong_to_one_connection() {
    let mut ledger = connected();
    let question = br#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#;
    let Verdict::Replace(asked) = ledger.daemon_said(question) else { panic!("not asked") };
    let id = Envelope::peek(&asked).unwrap().raw_id().unwrap().to_owned();
    assert!(id.starts_with("\"hob-"), "{id}");
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    assert_eq!(ledger.agent_said(answer.as_bytes()), None);
    assert_eq!(outbox(&mut ledger), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert!(ledger.agent_said(answer.as_bytes()).is_some());

    let Verdict::Replace(asked) = ledger.daemon_said(question) else { panic!("not asked") };
    let withdrawn = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let Verdict::Replace(withdrawn) = ledger.daemon_said(withdrawn) else { panic!("not withdrawn") };
    let id = Envelope::peek(&asked).unwrap().raw_id().unwrap().to_owned();
    assert!(String::from_utf8(withdrawn).unwrap().contains(&id));

    let Verdict::Replace(asked) = ledger.daemon_said(question) else { panic!("not asked") };
    let old = Envelope::peek(&asked).unwrap().raw_id().unwrap().to_owned();
    assert!(String::from_utf8(ledger.lost()).unwrap().contains(&old));
    ledger.resume(LossReason::Replaced);
    ledger.daemon_said(question);
    assert!(ledger.agent_said(format!(r#"{{"jsonrpc":"2.0","id":{old},"result":{{}}}}"#).as_bytes()).is_some());
    assert_eq!(outbox(&mut ledger), "");
}

#[test]
fn progress_and_its_answer_are_kept_apart() {
    let mut ledger = connected();
    let call = |id| {
        CALL.replace("\"id\":1", &format!("\"id\":{id}"))
            .replace("\"params\":{", &format!("\"params\":{{\"_meta\":{{\"progressToken\":\"t{id}\"}},"))
    };
    send(&mut ledger, &call(1));
    send(&mut ledger, &call(2));
    let progress =
        br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":1}}"#;
    assert_eq!(ledger.daemon_said(progress), Verdict::Forward);
    assert_eq!(ledger.daemon_said(br#"{"jsonrpc":"2.0","id":2,"result":{}}"#), Verdict::Forward);
    assert_eq!(ledger.daemon_said(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Verdict::ForwardApart);
}

#[test]
fn a_second_request_under_an_id_in_flight_is_refused_once() {
    let mut ledger = connected();
    send(&mut ledger, LIST);
    send(&mut ledger, LIST);
    let refusal = br#"{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"in flight"}}"#;
    assert_eq!(ledger.daemon_said(refusal), Verdict::Forward);
    assert!(ledger.needs_daemon());
    send(&mut ledger, LIST);
    ledger.lost();
    check(
        ledger.resume(LossReason::Replaced),
        expect![[r#"
            {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"a request with this id is still in flight"}}
        "#]],
    );
    assert_eq!(ledger.daemon_said(br#"{"jsonrpc":"2.0","id":2,"result":{}}"#), Verdict::Forward);
    assert!(!ledger.needs_daemon());
}

#[test]
fn a_batch_is_one_thing() {
    let mut ledger = connected();
    send(&mut ledger, r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    ledger.daemon_said(br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26"}}"#);
    send(&mut ledger, r#"[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":"tools/list"}]"#);
    send(&mut ledger, r#"[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"tools/call"}]"#);
    let answer = br#"[{"jsonrpc":"2.0","id":5,"result":{}},{"jsonrpc":"2.0","id":6,"result":{}}]"#;
    assert_eq!(ledger.daemon_said(answer), Verdict::Forward);
    ledger.lost();
    let answers = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    let answers: Vec<serde_json::Value> = serde_json::from_str(&answers).unwrap();
    assert_eq!(answers.iter().map(|answer| answer["id"].as_u64()).collect::<Vec<_>>(), [Some(7), Some(8)]);
    assert!(!ledger.needs_daemon());
}

#[test]
fn a_batch_that_is_refused_as_a_whole_is_not_waited_for() {
    let mut ledger = connected();
    send(&mut ledger, r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    ledger.daemon_said(br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26"}}"#);
    let pings: Vec<_> = (2..1027).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).collect();
    send(&mut ledger, &format!("[{}]", pings[..1024].join(",")));
    assert!(ledger.needs_daemon(), "as many as there may be");
    let answers: Vec<_> =
        pings[..1024].iter().map(|ping| ping.replace(r#""method":"ping""#, r#""result":{}"#)).collect();
    ledger.daemon_said(format!("[{}]", answers.join(",")).as_bytes());
    assert!(!ledger.needs_daemon());
    ledger.agent_said(format!("[{}]", pings.join(",")).as_bytes());
    assert!(outbox(&mut ledger).ends_with("]\n"), "the daemon refuses it");
    assert!(!ledger.needs_daemon(), "without an id");
}

//! Matches answers to requests: questions of the daemon, progress, duplicate ids, batches.

use super::*;

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
    assert!(String::from_utf8(ledger.record_lost_connection()).unwrap().contains(&old));
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
    ledger.record_lost_connection();
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
    let mut ledger = connected_with_batches();
    send(&mut ledger, r#"[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":"tools/list"}]"#);
    send(&mut ledger, r#"[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"tools/call"}]"#);
    let answer = br#"[{"jsonrpc":"2.0","id":5,"result":{}},{"jsonrpc":"2.0","id":6,"result":{}}]"#;
    assert_eq!(ledger.daemon_said(answer), Verdict::Forward);
    ledger.record_lost_connection();
    let answers = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    let answers: Vec<serde_json::Value> = serde_json::from_str(&answers).unwrap();
    assert_eq!(answers.iter().map(|answer| answer["id"].as_u64()).collect::<Vec<_>>(), [Some(7), Some(8)]);
    assert!(!ledger.needs_daemon());
}

#[test]
fn a_batch_that_is_refused_as_a_whole_is_not_waited_for() {
    let mut ledger = connected_with_batches();
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

//! Calls that deliver mail: the information for the next daemon about answers that may be lost.

use super::*;

const WAIT: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait_for_message","arguments":{}}}"#;
const MAIL: &[u8] = br#"{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"message":{"message_id":"msg_A"}}}}"#;
const GIVE_UP: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;

#[test]
fn a_waiter_survives_its_daemon() {
    let mut ledger = connected();
    assert_eq!(ledger.lost_hand_outs(), (false, None));
    send(&mut ledger, WAIT);
    ledger.record_lost_connection();
    assert_eq!(ledger.lost_hand_outs(), (true, None), "the next daemon is told that an answer may be lost");
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    assert_eq!(outbox(&mut ledger), format!("{WAIT}\n"));
    // This daemon dies before it reads anything: the first delivery is still unconfirmed.
    ledger.record_lost_connection();
    assert_eq!(ledger.lost_hand_outs(), (true, None));
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    assert_eq!(outbox(&mut ledger), format!("{WAIT}\n"));
    ledger.daemon_said(MAIL);
    assert_eq!(ledger.lost_hand_outs(), (false, Some("msg_A".to_owned())));
}

#[test]
fn a_receipt_says_nothing_of_calls_that_were_made_before_it_came() {
    let mut ledger = connected();
    let (first, second) = (WAIT, WAIT.replace("7", "8"));
    send(&mut ledger, first);
    send(&mut ledger, &second);
    ledger.daemon_said(MAIL);
    assert_eq!(ledger.lost_hand_outs(), (false, Some("msg_A".to_owned())), "nothing is lost yet");
    ledger.record_lost_connection();
    assert_eq!(ledger.lost_hand_outs(), (true, None), "the second may have run beside the first");
    ledger.resume(LossReason::Replaced);
    write_outbox(&mut ledger);
    ledger.daemon_said(&String::from_utf8_lossy(MAIL).replace("7", "8").replace("msg_A", "msg_B").into_bytes());
    send(&mut ledger, first);
    ledger.record_lost_connection();
    assert_eq!(ledger.lost_hand_outs(), (true, Some("msg_B".to_owned())), "made after that answer");
    // Several at once, or in one batch.
    ledger.resume(LossReason::Replaced);
    send(&mut ledger, &second);
    ledger.record_lost_connection();
    assert_eq!(ledger.lost_hand_outs(), (true, None));
}

#[test]
fn an_answer_with_mail_that_the_agent_gave_up_is_told_of() {
    // Cancelled before the answer came.
    let mut ledger = connected();
    send(&mut ledger, WAIT);
    send(&mut ledger, GIVE_UP);
    ledger.record_lost_connection();
    assert_eq!(ledger.lost_hand_outs(), (true, None));
    // Cancelled while the answer was in transit: the next daemon must not rely on the previous receipt.
    let mut ledger = connected();
    send(&mut ledger, WAIT);
    ledger.daemon_said(MAIL);
    assert_eq!(ledger.lost_hand_outs(), (false, Some("msg_A".to_owned())));
    ledger.record_lost_connection();
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
    ledger.record_lost_connection();
    assert_eq!(ledger.lost_hand_outs(), (false, None), "it only reads");
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    write_outbox(&mut ledger);
    ledger.daemon_said(MAIL);
    send(&mut ledger, WAIT);
    ledger.record_lost_connection();
    assert_eq!(ledger.lost_hand_outs(), (true, None));
    let said = String::from_utf8(ledger.resume(LossReason::Replaced)).unwrap();
    assert!(said.contains("`wait_for_message`: the call may have run"), "{said}");
}

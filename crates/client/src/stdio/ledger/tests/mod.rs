//! The ledger alone: lines in, lines out.
//!
//! This file has the ledger and sample messages. `repeats.rs` tests repeated and abandoned calls,
//! `unconfirmed_deliveries.rs` calls that deliver mail, `handshake.rs` the handshake with the next daemon,
//! `answers.rs` the matching of answers to requests.

mod answers;
mod handshake;
mod repeats;
mod unconfirmed_deliveries;

use super::*;
use expect_test::{Expect, expect};
use project::{Repeat, RepeatRule};

fn connected() -> Ledger {
    let mut ledger = Ledger::default();
    assert!(ledger.resume(LossReason::Replaced).is_empty());
    assert!(ledger.on_hello_ack(&daemon("a", &[]), true).is_empty());
    ledger
}

/// Returns a connected ledger in the revision of the protocol that has batches.
fn connected_with_batches() -> Ledger {
    let mut ledger = connected();
    send(&mut ledger, r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#);
    ledger.daemon_said(br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-03-26"}}"#);
    ledger
}

/// Returns a daemon's hello, with a list of tools and of those that only read.
fn daemon(listing: &str, read_only: &[&str]) -> HelloAck {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let rule = |tools: &[&str], how| RepeatRule { tools: names(tools), how };
    let [restarted, reconnected, advice, keyed_advice] =
        ["list shows what there is.", "wait waits for what still runs.", "Search for it.", "Call it again."]
            .map(str::to_owned);
    let repeat = vec![
        rule(&["repl_eval", "repl_read"], Repeat::Unsafe { restarted, reconnected }),
        rule(&["more_tools"], Repeat::Lasting),
        rule(&["wait_for_message"], Repeat::HandsOut { receipt: "message_id".to_owned() }),
        rule(&["send_message"], Repeat::Keyed { argument: "idempotency_key".to_owned(), advice, keyed_advice }),
    ];
    let (listing, read_only) = (listing.to_owned(), names(read_only));
    HelloAck { listing, read_only, repeat: Some(repeat), ..HelloAck::accepted(1, "life") }
}

/// Sends a line and records it as written.
fn send(ledger: &mut Ledger, line: &str) {
    ledger.agent_said(line.as_bytes());
    write_outbox(ledger);
}

fn write_outbox(ledger: &mut Ledger) {
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

//! Random input: the server never panics, always ends with its input, writes only messages, and answers no request
//! twice.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ConnectionOptions, everything, serve_pieces};
use crate::server::Limits;

/// Returns a line of input, and its id if it is a request.
fn line() -> impl Strategy<Value = (Vec<u8>, Option<u64>)> {
    let id = 0_u64..6;
    let request = |id: u64, method: &str, params: Value| {
        (
            format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).into_bytes(),
            Some(id),
        )
    };
    let call = move |id: u64, (name, arguments): (&str, Value), token: bool, modern: bool| {
        let mut meta = if token { json!({"progressToken": id}) } else { json!({}) };
        if modern {
            meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            meta["io.modelcontextprotocol/clientCapabilities"] =
                json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        }
        request(id, "tools/call", json!({"name": name, "arguments": arguments, "_meta": meta}))
    };
    let tool = prop_oneof![
        Just(("echo", json!({"text": "hi"}))),
        Just(("hold", json!({}))),
        Just(("watch", json!({}))),
        Just(("sleep", json!({"count": 3}))),
        Just(("report", json!({"count": 2}))),
        Just(("notify", json!({"count": 3}))),
        Just(("refuse", json!({}))),
        Just(("inquire", json!({"about": "form"}))),
        Just(("inquire", json!({"about": "both"}))),
        Just(("inquire", json!({"resume": {"id": "x"}}))),
        Just(("toil", json!({"seconds": 7}))),
        Just(("touch", json!({"uri": "note://hello"}))),
        Just(("none", json!(7))),
    ];
    prop_oneof![
        3 => (id.clone(), tool, any::<bool>(), any::<bool>())
            .prop_map(move |(id, tool, token, modern)| call(id, tool, token, modern)),
        1 => (id.clone(), prop_oneof![Just("ping"), Just("tools/list"), Just("resources/list"), Just("prompts/list"), Just("resources/subscribe"), Just("initialize"), Just("x")])
            .prop_map(move |(id, method)| request(id, method, json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"elicitation": {}, "roots": {}},
                "uri": "note://hello",
            }))),
        1 => id.prop_map(|id| {
            let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
            (format!("{cancelled}\n").into_bytes(), None)
        }),
        1 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| (bytes, None)),
        1 => "[\\[\\]{}\",:0-9a-z\\n ]{0,60}".prop_map(|text| (text.into_bytes(), None)),
    ]
}

fn run(input: Vec<Vec<u8>>) -> String {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    let limits = Limits { running: 3, waiting: 4, line: 1000, ..Limits::default() };
    runtime.block_on(serve_pieces(&everything(), input, ConnectionOptions { limits, ..ConnectionOptions::default() }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_answered_twice(lines in proptest::collection::vec(line(), 0..30), cuts in proptest::collection::vec(0_usize..3000, 0..6)) {
        let mut asked = HashMap::<u64, usize>::new();
        for id in lines.iter().filter_map(|(_, id)| *id) {
            *asked.entry(id).or_default() += 1;
        }
        let mut input: Vec<u8> = lines.into_iter().flat_map(|(line, _)| line).collect();
        let mut pieces = Vec::new();
        for cut in cuts {
            let rest = input.split_off(cut.min(input.len()));
            pieces.push(std::mem::replace(&mut input, rest));
        }
        pieces.push(input);
        let mut answered = HashMap::<u64, usize>::new();
        for line in run(pieces).lines() {
            let message: Value = serde_json::from_str(line).expect("output is JSON");
            let messages = match message {
                Value::Array(messages) => messages,
                one => vec![one],
            };
            for message in messages {
                prop_assert_eq!(&message["jsonrpc"], "2.0");
                if let (Some(id), true) = (message["id"].as_u64(), message["method"].is_null()) {
                    *answered.entry(id).or_default() += 1;
                }
            }
        }
        for (id, count) in answered {
            prop_assert!(count <= asked.get(&id).copied().unwrap_or_default(), "{} was answered {} times", id, count);
        }
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        for line in run(vec![bytes]).lines() {
            let message: Value = serde_json::from_str(line).expect("output is JSON");
            prop_assert_eq!(&message["jsonrpc"], "2.0");
        }
    }
}

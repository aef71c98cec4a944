//! Recording with the engine, replaying without it, and the counts in the ledger.

use nodes::cassette::{Cassettes, Mode};
use nodes::engine::Engine;
use nodes::folder::Folder;
use nodes::usage::{self, Usage};
use nodes::{Models, Node, RunContext};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::engine;

fn rate(body: &str) -> Node {
    let text = format!(
        "---\ndescription: Rates.\ninput: {{ schema: {{ text: string }} }}\noutput: {{ schema: {{ reason: string, score: integer 1..5 }} }}\n---\n{body}: {{{{ text | data }}}}\n"
    );
    Node::parse("rate", &text).expect("valid")
}

fn input(text: &str) -> Map<String, Value> {
    Map::from_iter([("text".to_owned(), Value::from(text))])
}

/// Returns the value as text or the failure, and the source of the answer.
async fn call(node: &Node, text: &str, models: &Models, cassettes: &Cassettes, folder: &Folder) -> String {
    let means = RunContext { cassettes: Some((cassettes, folder)), ..RunContext::new(models) };
    match nodes::run_with(node, input(text), means).await {
        Ok(done) => format!("{} {:?}", done.value, done.ledger.attempts[0].via),
        Err(failure) => failure.why,
    }
}

#[tokio::test]
async fn recordings_are_replayed_without_an_engine() {
    let Some(engine) = engine().await else { return };
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path(), "nodes");
    let models = engine.models("fixed");
    let (node, record) = (rate("Rate this"), Cassettes::new(Mode::Record));
    for text in ["a", "b", "c"] {
        let said = call(&node, text, &models, &record, &folder).await;
        assert_eq!(said, r#"{"reason":"","score":1} Direct"#);
    }
    let file = place.path().join("nodes/cassettes/rate.jsonl");
    let before = std::fs::read_to_string(&file).unwrap();
    assert_eq!(before.lines().count(), 3);
    assert!(before.lines().is_sorted());
    drop(engine);
    let replay = Cassettes::new(Mode::Replay);
    for text in ["a", "b", "c"] {
        assert_eq!(call(&node, text, &models, &replay, &folder).await, r#"{"reason":"","score":1} Cassette"#);
        // This also works without a configured model, as on CI.
        assert_eq!(
            call(&node, text, &Models::default(), &replay, &folder).await,
            r#"{"reason":"","score":1} Cassette"#
        );
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    // One changed letter of the template invalidates the recordings, and the failure names them.
    let changed = rate("Rate thus");
    let said = call(&changed, "a", &models, &replay, &folder).await;
    assert!(said.contains("this call of rate is not recorded in cassettes/rate.jsonl: the nearest entry, "), "{said}");
    assert!(
        said.contains(" differs in the version of the node, the messages; `hob node record rate` records it"),
        "{said}"
    );
    // Another input does not change the node.
    let said = call(&node, "d", &models, &replay, &folder).await;
    assert!(said.contains(" differs in the messages;"), "{said}");
}

#[tokio::test]
async fn the_ledger_counts_what_the_server_counts() {
    let Some(engine) = engine().await else { return };
    let place = tempfile::tempdir().unwrap();
    let usage = Usage::new(place.path().join("usage.jsonl"), 10);
    let models = engine.models("fixed");
    let before = counted(&engine).await;
    let (mut ours, mut cached) = ((0, 0), 0);
    let schemas = [
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 100}}, "required": ["a"]}),
        json!({"type": "array", "items": {"type": "string", "minLength": 9}, "minItems": 4}),
    ];
    let mut failures = 0;
    for number in 0..300 {
        let front = "policy: { attempts: 2 }\nconfig: { maxOutputTokens: 20 }";
        let node = super::node("count", front, &schemas[number % 3]).unwrap();
        let means = RunContext { usage: Some(&usage), ..RunContext::new(&models) };
        let ledger = match nodes::run_with(&node, Map::new(), means).await {
            Ok(done) => done.ledger,
            Err(failure) => {
                failures += 1;
                failure.ledger
            }
        };
        for tokens in ledger.attempts.iter().map(|attempt| attempt.tokens.expect("the server says")) {
            ours = (ours.0 + tokens.input, ours.1 + tokens.output);
            cached += tokens.cached.unwrap_or_default();
        }
    }
    assert!(failures >= 100, "{failures}");
    let after = counted(&engine).await;
    let theirs = (after.0 - before.0, after.1 - before.1);
    println!("300 calls, {failures} of them failures: {ours:?} tokens by the ledgers, {theirs:?} by the server");
    // The prompt includes tokens from the server's cache, which are not read again. The server's usage has their number.
    assert_eq!((ours.0 - cached, ours.1), theirs);
    // Every attempt is recorded.
    let kept = usage::read_all(&place.path().join("usage.jsonl")).unwrap();
    let sum = |of: fn(&nodes::outcome::Tokens) -> u64| {
        kept.iter().filter_map(|spent| spent.tokens.as_ref()).map(of).sum::<u64>()
    };
    assert_eq!((sum(|tokens| tokens.input), sum(|tokens| tokens.output)), ours);
    // No tokens left this machine.
    assert_eq!(usage.spent_today(), 0);
}

/// Returns the server's counters: prompt tokens that it read, and tokens that it predicted.
async fn counted(engine: &Engine) -> (u64, u64) {
    let address = engine.url().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    let number = |name: &str| {
        let line = said.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {said}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64
    };
    (number("llamacpp:prompt_tokens_total"), number("llamacpp:tokens_predicted_total"))
}

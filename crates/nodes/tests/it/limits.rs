//! Reaches every limit of a call and checks that the error names it; also the cost of a call, and the progress of its answer.

use std::net::TcpListener;
use std::sync::Mutex;

use nodes::usage::{self, Usage};
use nodes::{ModelSettings, Models, Node, NodesSettings, Price, RunContext, TokenProgress};
use serde_json::{Map, Value, json};

use crate::endpoint::{Endpoint, Reply, streams, text_reply};

fn node(policy: &str) -> Node {
    let text = format!(
        "---\ndescription: A node.\npolicy: {{ {policy} }}\noutput: {{ schema: {{ score: integer 1..5 }} }}\n---\nSay it.\n"
    );
    Node::parse("rate", &text).unwrap()
}

fn models(model: ModelSettings) -> Models {
    Models::new(&NodesSettings { models: [("one".to_owned(), model)].into(), ..NodesSettings::default() })
}

async fn failure(node: &Node, means: RunContext<'_>) -> String {
    nodes::run_with(node, Map::new(), means).await.unwrap_err().why
}

#[tokio::test]
async fn each_limit_of_a_call_is_hit_and_named() {
    let wrong = || text_reply(r#"{"score":9}"#, "stop");
    let endpoint = Endpoint::start(vec![wrong(), wrong(), wrong()]);
    let asked = models(ModelSettings::at(&endpoint.url, "m"));
    let said = failure(&node("attempts: 2"), RunContext::new(&asked)).await;
    assert!(said.ends_with("(attempt 2 of 2, by policy.attempts)"), "{said}");
    assert_eq!(endpoint.bodies().len(), 2);
    // Before a call by the estimate, and between attempts also by the server's counts.
    let said = failure(&node("tokens: 10"), RunContext::new(&asked)).await;
    assert!(said.contains("and 0 are spent; policy.tokens of the node allows 10"), "{said}");
    assert_eq!(endpoint.bodies().len(), 2);
    let said = failure(&node("attempts: 2, tokens: 100"), RunContext::new(&asked)).await;
    assert!(said.contains("and 12 are spent; policy.tokens of the node allows 100"), "{said}");
    assert_eq!(endpoint.bodies().len(), 3);
    // A server that accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let waits = models(ModelSettings::at(format!("http://{}/v1", silent.local_addr().unwrap()), "m"));
    let said = failure(&node("timeout: 1s"), RunContext::new(&waits)).await;
    assert!(said.starts_with("no answer within 1 s, by policy.timeout of the node"), "{said}");
}

#[tokio::test]
async fn the_budget_of_a_day_is_hit_and_outlives_a_restart() {
    // An address that counts as remote although it is local. The server closes all connections.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let away = models(ModelSettings::at(format!("https://0.0.0.0:{port}/v1"), "m"));
    let place = tempfile::tempdir().unwrap();
    let open = |per_day| Usage::at(place.path().join("usage.jsonl"), per_day, || 20_000 * 86_400);
    let node = node("attempts: 1");
    let usage = open(200);
    let said = failure(&node, RunContext { usage: Some(&usage), ..RunContext::new(&away) }).await;
    assert!(said.contains("0.0.0.0 cannot be reached"), "{said}");
    let spent = usage.spent_today();
    assert!(spent > 0 && spent < 100, "{spent}");
    drop(usage);
    // After a restart of the daemon.
    let usage = open(spent + 10);
    let said = failure(&node, RunContext { usage: Some(&usage), ..RunContext::new(&away) }).await;
    let wanted = format!("and {spent} left the machine today; nodes.tokens_per_day allows {}", spent + 10);
    assert!(said.contains(&wanted), "{said}");
    // Local calls do not count.
    let endpoint = Endpoint::start(vec![text_reply(r#"{"score":3}"#, "stop")]);
    let here = models(ModelSettings::at(&endpoint.url, "m"));
    nodes::run_with(&node, Map::new(), RunContext { usage: Some(&usage), ..RunContext::new(&here) }).await.unwrap();
    assert_eq!(usage.spent_today(), spent);
}

#[tokio::test]
async fn an_answer_costs_what_its_model_s_price_says() {
    let replies = vec![text_reply(r#"{"score":9}"#, "stop"), text_reply(r#"{"score":3}"#, "stop")];
    let endpoint = Endpoint::start(replies);
    let price = Price { input: 2.0, output: 30.0, cached: None };
    let priced = models(ModelSettings { price: Some(price), ..ModelSettings::at(&endpoint.url, "m") });
    let place = tempfile::tempdir().unwrap();
    let usage = Usage::new(place.path().join("usage.jsonl"), 0);
    let means = RunContext { usage: Some(&usage), ..RunContext::new(&priced) };
    let done = nodes::run_with(&node("attempts: 2"), Map::new(), means).await.unwrap();
    // Ten tokens in and two out, twice: failed attempts cost too.
    let costs: Vec<_> = done.ledger.attempts.iter().map(|attempt| attempt.cost).collect();
    assert_eq!(costs, [Some(80e-6), Some(80e-6)]);
    assert_eq!(done.ledger.cost(), Some(160e-6));
    let kept = usage::read_all(&place.path().join("usage.jsonl")).unwrap();
    assert_eq!(kept.iter().map(|spent| spent.cost).collect::<Vec<_>>(), [Some(80e-6), Some(80e-6)]);
    // Without a price, no cost is reported.
    let endpoint = Endpoint::start(vec![text_reply(r#"{"score":3}"#, "stop")]);
    let free = models(ModelSettings::at(&endpoint.url, "m"));
    let done = nodes::run(&node("attempts: 2"), Map::new(), &free).await.unwrap();
    assert_eq!(done.ledger.cost(), None);
    // Cached prompt tokens have a separate price.
    let cached = Price { cached: Some(0.5), ..price };
    let tokens = nodes::outcome::Tokens { input: 10, output: 2, cached: Some(8) };
    assert_eq!((price.cost(tokens), cached.cost(tokens)), (80e-6, 68e-6));
}

#[tokio::test]
async fn a_stream_says_how_many_tokens_have_come_and_gives_no_half_value() {
    let parts = ["{\"sc", "ore\"", ":", "3", "}"];
    let endpoint = Endpoint::raw(vec![streams(&parts, Some("stop"))]);
    let models = models(ModelSettings::at(&endpoint.url, "m"));
    let counts = Mutex::new(Vec::new());
    let hear = |tokens: u64| counts.lock().unwrap().push(tokens);
    let means = RunContext { heard: Some(TokenProgress(&hear)), ..RunContext::new(&models) };
    let done = nodes::run_with(&node("attempts: 1"), Map::new(), means).await.unwrap();
    assert_eq!(done.value, json!({"score": 3}));
    let tokens = done.ledger.attempts[0].tokens.unwrap();
    assert_eq!((tokens.input, tokens.output), (10, 5));
    let counts = counts.into_inner().unwrap();
    assert!(counts.is_sorted() && counts.last() == Some(&5), "{counts:?}");
    let asked: &Value = &endpoint.requests()[0];
    assert_eq!((&asked["stream"], &asked["stream_options"]), (&json!(true), &json!({"include_usage": true})));
}

#[tokio::test]
async fn a_server_that_knows_no_streams_is_asked_without() {
    let refuses = json!({"error": {"message": "Unrecognized request argument supplied: stream_options"}});
    let endpoint = Endpoint::start(vec![Reply(400, "", refuses), text_reply(r#"{"score":3}"#, "stop")]);
    let models = models(ModelSettings::at(&endpoint.url, "m"));
    let means = RunContext { heard: Some(TokenProgress(&|_| ())), ..RunContext::new(&models) };
    let done = nodes::run_with(&node("attempts: 1"), Map::new(), means).await.unwrap();
    assert_eq!((done.value, done.ledger.attempts.len()), (json!({"score": 3}), 1));
    let asked: Vec<bool> = endpoint.requests().iter().map(|body| body.get("stream").is_some()).collect();
    assert_eq!(asked, [true, false]);
    // The progress of an unstreamed answer is reported too.
    let endpoint = Endpoint::start(vec![text_reply(r#"{"score":3}"#, "stop")]);
    let models = self::models(ModelSettings::at(&endpoint.url, "m"));
    let means = RunContext { heard: Some(TokenProgress(&|_| ())), ..RunContext::new(&models) };
    nodes::run_with(&node("attempts: 1"), Map::new(), means).await.unwrap();
    assert_eq!(endpoint.bodies().len(), 1);
}

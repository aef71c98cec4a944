//! Inputs and servers that mean no good, and where secrets do not go.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use nodes::cassette::{Cassettes, Mode};
use nodes::folder::Folder;
use nodes::usage::Usage;
use nodes::{Means, ModelSettings, Models, Node, NodesSettings};
use serde_json::{Map, Value, json};

use crate::endpoint::{Endpoint, Reply, says};

fn node(body: &str) -> Result<Node, String> {
    let text = format!(
        "---\ndescription: N.\ninput: {{ schema: {{ text: string }} }}\noutput: {{ schema: {{ a: string }} }}\npolicy: {{ attempts: 1, timeout: 20s }}\n---\n{body}\n"
    );
    Node::parse("n", &text).map_err(|problems| problems.iter().map(|problem| format!("{problem}\n")).collect())
}

fn input(text: &str) -> Map<String, Value> {
    Map::from_iter([("text".to_owned(), Value::from(text))])
}

#[tokio::test]
async fn an_input_of_ten_megabytes_and_an_endless_template_end_with_a_sentence() {
    let endpoint = Endpoint::start(vec![]);
    let models = Models::at(&endpoint.url, "m").expect("an address");
    let begun = Instant::now();
    let large = nodes::run(&node("{{ text | data }}").expect("valid"), input(&"x".repeat(10_000_000)), &models).await;
    let why = large.expect_err("too large").why;
    assert!(
        why.starts_with("this attempt needs about 25000") && why.contains("policy.tokens of the node allows 50000"),
        "{why}"
    );
    for body in [
        "{{ text }}{% for a in range(10000) %}{% for b in range(10000) %}{% for c in range(10000) %}.{% endfor %}{% endfor %}{% endfor %}",
        "{{ text }}{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    ] {
        let failure = match node(body) {
            Ok(node) => nodes::run(&node, input("a"), &models).await.expect_err("endless").why,
            Err(why) => why,
        };
        assert!(failure.contains("the template: "), "{failure}");
    }
    println!("all of it in {:?}", begun.elapsed());
    for body in [
        "{{ text }}{% include '/etc/passwd' %}",
        "{{ text }}{% import '../secret' as s %}",
        "{{ text }}{% extends 'x' %}",
    ] {
        let why = node(body).expect_err("nothing to take");
        assert!(why.contains("a body includes"), "{why}");
    }
    assert_eq!(endpoint.asked(), Vec::<Value>::new(), "nothing was sent");
}

#[tokio::test]
async fn a_server_that_means_no_good_gets_a_sentence() {
    let deep = "[".repeat(100_000);
    let replies = vec![
        says(&deep, "stop"),
        says("\u{0}\u{1b}[31mred", "stop"),
        Reply(200, "", json!({"choices": [{"finish_reason": "stop", "message": {"content": 7}}]})),
        Reply(302, "location: http://127.0.0.1:1/\r\n", json!({})),
        Reply(500, "", json!({"error": {"message": "\u{1b}[2Jx".repeat(5_000)}})),
    ];
    let count = replies.len();
    let endpoint = Endpoint::start(replies);
    let models = Models::at(&endpoint.url, "m").expect("an address");
    for _ in 0..count {
        let failure = nodes::run(&node("{{ text }}").expect("valid"), input("a"), &models).await.expect_err("no value");
        assert!(failure.why.len() < 1_000 && !failure.why.contains('\u{1b}'), "{}", failure.why);
    }
}

#[tokio::test]
async fn a_key_is_in_no_answer_file_or_error() {
    const SECRET: &str = "sk-planted/0123456789";
    let place = tempfile::tempdir().expect("a directory");
    let key = place.path().join("key");
    std::fs::write(&key, format!("{SECRET}\n")).expect("written");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("private");
    // Servers repeat keys in errors and, it can be, in answers, where JSON has several ways to write them.
    let escaped = SECRET.replace("sk", r"\u0073k").replace('/', r"\/");
    let echo = json!({"error": {"message": format!("Incorrect API key provided: {SECRET}")}});
    let endpoint =
        Endpoint::start(vec![Reply(401, "", echo), says(&format!("{{\"a\": \"the key is {escaped}\"}}"), "stop")]);
    let model = ModelSettings { key_file: Some(key), ..ModelSettings::at(&endpoint.url, "m") };
    let settings = NodesSettings { models: [("m".to_owned(), model)].into(), ..NodesSettings::default() };
    let models = Models::new(&settings);
    let (cassettes, folder) = (Cassettes::new(Mode::Record), Folder::new(place.path(), "nodes"));
    let usage = Usage::new(place.path().join("usage.jsonl"), 1_000);
    let means = Means { cassettes: Some((&cassettes, &folder)), usage: Some(&usage), ..Means::of(&models) };
    let node = node("{{ text }}").expect("valid");
    let failure = nodes::run_with(&node, input("a"), means).await.expect_err("a wrong key");
    let done = nodes::run_with(&node, input("b"), means).await.expect("a value");
    assert_eq!(done.value, json!({"a": "the key is [key]"}));
    let said = format!("{failure:?} {done:?} {models:?}");
    assert!(said.contains("Incorrect API key provided: [key]") && !said.contains(SECRET), "{said}");
    let mut files = 0;
    for path in [place.path().join("nodes/cassettes/n.jsonl"), place.path().join("usage.jsonl")] {
        let text = std::fs::read_to_string(path).expect("written");
        assert!(!text.contains(SECRET) && !text.to_lowercase().contains("authorization"), "{text}");
        files += 1;
    }
    assert_eq!(files, 2);
}

/// The validator would take anything for valid.
#[test]
fn a_schema_that_only_refers_to_itself_is_refused() {
    let defs = json!({"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "integer"}]}});
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": defs});
    let text = format!("---\ndescription: A.\noutput: {{ schema: {schema} }}\n---\nSay it.\n");
    let said = Node::parse("endless", &text).unwrap_err()[0].to_string();
    let wanted = "3: the schema of the output: #/$defs/a leads back to itself with no part of the value in between, so it says nothing";
    assert_eq!(said, wanted);
}

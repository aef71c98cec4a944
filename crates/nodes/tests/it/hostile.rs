//! Hostile inputs and servers, and the protection of secrets.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use nodes::cassette::{Cassettes, Mode};
use nodes::folder::Folder;
use nodes::usage::Usage;
use nodes::{Delegation, ModelSettings, Models, Node, NodesSettings, RunContext};
use serde_json::{Map, Value, json};

use crate::endpoint::{Endpoint, Reply, text_reply};

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
    let place = tempfile::tempdir().expect("a directory");
    let calls = Delegation::new(Some([7; 32]), place.path().to_owned());
    let begun_large = calls.begin(&node("{{ text | data }}").expect("valid"), input(&"x".repeat(10_000_000)), "me");
    for why in [why, begun_large.expect_err("too large").to_string()] {
        let is_named =
            why.contains("this attempt needs about 25000") && why.contains("policy.tokens of the node allows 50000");
        assert!(is_named && why.len() < 1_000, "{why:.300}");
    }
    for body in [
        "{{ text }}{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}.{% endfor %}{% endfor %}{% endfor %}",
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
        assert!(why.contains("a body includes") || why.contains("is not supported; use `include`"), "{why}");
    }
    assert_eq!(endpoint.requests(), Vec::<Value>::new(), "nothing was sent");
}

#[tokio::test]
async fn a_server_that_means_no_good_gets_a_sentence() {
    let deep = "[".repeat(100_000);
    let replies = vec![
        text_reply(&deep, "stop"),
        text_reply("\u{0}\u{1b}[31mred", "stop"),
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
async fn an_answer_that_is_too_long_is_said_to_be() {
    let long = format!("HTTP/1.1 200 X\r\nconnection: close\r\n\r\n{}", "x".repeat(17 * 1024 * 1024));
    let endpoint = Endpoint::raw(vec![long]);
    let node = node("{{ text }}").expect("valid");
    let one = ModelSettings::at(&endpoint.url, "m");
    let models = Models::new(&NodesSettings { models: [("one".to_owned(), one)].into(), ..NodesSettings::default() });
    let failure = nodes::run(&node, input("a"), &models).await.expect_err("too long");
    let first = &failure.ledger.attempts[0].problems[0];
    assert_eq!(first, "the answer of 127.0.0.1 is longer than 16 MiB, the limit");
}

#[tokio::test]
async fn a_key_is_in_no_answer_file_or_error() {
    const SECRET: &str = "sk-planted/0123456789";
    let place = tempfile::tempdir().expect("a directory");
    let key = place.path().join("key");
    std::fs::write(&key, format!("{SECRET}\n")).expect("written");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("private");
    // Servers repeat keys in errors and possibly in answers, where JSON can escape them in several ways.
    let escaped = SECRET.replace("sk", r"\u0073k").replace('/', r"\/");
    let echo = json!({"error": {"message": format!("Incorrect API key provided: {SECRET}")}});
    let endpoint = Endpoint::start(vec![
        Reply(401, "", echo),
        text_reply(&format!("{{\"a\": \"the key is {escaped}\"}}"), "stop"),
    ]);
    let model = ModelSettings { key_file: Some(key), ..ModelSettings::at(&endpoint.url, "m") };
    let settings = NodesSettings { models: [("m".to_owned(), model)].into(), ..NodesSettings::default() };
    let models = Models::new(&settings);
    let (cassettes, folder) = (Cassettes::new(Mode::Record), Folder::new(place.path(), "nodes"));
    let usage = Usage::new(place.path().join("usage.jsonl"), 1_000);
    let means = RunContext { cassettes: Some((&cassettes, &folder)), usage: Some(&usage), ..RunContext::new(&models) };
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

/// The validator would accept any value.
#[test]
fn a_schema_that_only_refers_to_itself_is_refused() {
    let defs = json!({"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "integer"}]}});
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": defs});
    let text = format!("---\ndescription: A.\noutput: {{ schema: {schema} }}\n---\nSay it.\n");
    let said = Node::parse("endless", &text).unwrap_err()[0].to_string();
    let wanted = "3: the schema of the output: #/$defs/a refers to itself without entering a part of the value, so it \
                  has no meaning";
    assert_eq!(said, wanted);
}

/// Each of these once crashed or blocked the daemon: texts that grow by repetition, and deeply nested ones.
#[test]
fn a_body_that_grows_or_is_deep_is_refused_with_its_line() {
    let deep_if = "{% if text %}".repeat(20_000) + &"{% endif %}".repeat(20_000);
    let elifs = format!("{{% if text %}}{}{{% endif %}}", "{% elif text %}".repeat(10_000));
    let sum = format!("{{{{ 1{} }}}}", "+1".repeat(20_000));
    let (not, minus) =
        (format!("{{{{ {} text }}}}", "not ".repeat(50_000)), format!("{{{{ {}1 }}}}", "-".repeat(100_000)));
    let (filters, few) =
        (format!("{{{{ text{} }}}}", "|abs".repeat(50_000)), format!("{{{{ text{} }}}}", "|upper".repeat(9)));
    let text = format!("{{{{ '{}' }}}}", "x".repeat(1_001));
    let words = "an expression has at most 200 words and operators";
    for (body, wanted) in [
        (
            "{% set ns = namespace(s=[1]) %}{% for i in range(1000) %}{% set ns.s = [ns.s] %}{% endfor %}",
            "`set` is not supported",
        ),
        ("{% with s = text %}{{ s }}{% endwith %}", "`with` is not supported"),
        ("{% macro m() %}{{ m() }}{% endmacro %}", "`macro` is not supported"),
        ("{% filter upper %}a{% endfilter %}", "`filter` is not supported"),
        ("{{ text ~ text }}", "`~` is not supported"),
        ("{{ 'x' * 1000000000 }}", "`*` is not supported"),
        ("{{ 9 ** 9 }}", "`**` is not supported"),
        ("{{ [text, text] }}", "only constants"),
        ("{% for s in [[text]] %}{{ s }}{% endfor %}", "a `for` goes over"),
        ("{% for s in text + text %}{{ s }}{% endfor %}", "a `for` goes over"),
        ("{% for s in text recursive %}{{ loop(s) }}{% endfor %}", "`recursive` is not supported"),
        ("{% for i in range(1001) %}.{% endfor %}", "at most 1000"),
        ("{% for i in range(text) %}.{% endfor %}", "at most 1000"),
        ("{{ text.upper() }}", "only range(N) is called"),
        ("{{ text | replace('a', 'aa') }}", "unknown filter `replace`"),
        ("{{ text | join(text) }}", "takes constants"),
        // They would fill the memory before the engine counts them.
        ("{{ [1] | tojson(indent=99999999999) }}", "an indent of at most 8"),
        ("{{ [1] | tojson(9) }}", "an indent of at most 8"),
        ("{{ [1] | tojson(99999999999.0) }}", "an indent of at most 8"),
        ("{{ [1] | tojson([2]) }}", "an indent of at most 8"),
        (few.as_str(), "at most 8 filters"),
        (deep_if.as_str(), "at most 32 deep"),
        (elifs.as_str(), "at most 32 deep"),
        (sum.as_str(), words),
        (not.as_str(), words),
        (minus.as_str(), words),
        (filters.as_str(), words),
        (text.as_str(), "a text in quotes has at most 1000 bytes"),
    ] {
        let why = node(&format!("{{{{ text }}}}\n{body}")).expect_err(body);
        assert!(why.starts_with("8: the template: ") && why.contains(wanted), "{body:.80}: {why:.300}");
    }
    let said = |that: &str| {
        let text = format!(
            "---\ndescription: N.\noutput: {{ schema: {{ a: string }} }}\nchecks: [ {{ that: \"{that}\", say: nope }} ]\n---\nSay it.\n"
        );
        Node::parse("n", &text).map(drop).map_err(|problems| problems[0].to_string())
    };
    let why = said(&format!("output.a == 1{}", "+1".repeat(20_000))).unwrap_err();
    assert!(why.contains(words), "{why:.300}");
    assert!(said("output.a * 1000000000 == 'a'").unwrap_err().contains("`*` is not supported"));
    assert_eq!(said("output.a in ['a', 'b'] and output.a | length < 5"), Ok(()));
}

/// The deepest allowed template is compiled, rendered and dropped on an ordinary thread's stack.
#[tokio::test]
async fn allowed_templates_are_rendered() {
    let deepest =
        "{% if text %}".repeat(32) + &format!("{{{{ {}text }}}}", "not ".repeat(198)) + &"{% endif %}".repeat(32);
    let list: Vec<String> = (0..1_000).map(|number| format!("'{number}'")).collect();
    let body = format!(
        "{{{{ text | upper | default('none') }}}}{deepest}{{% for c in [1, 2] | reverse if c > 0 %}}{{{{ loop.index }}}}{{% endfor %}}\
         {{% for i in range(2) %}}{{{{ i + 1 }}}}{{% else %}}-{{% endfor %}}{{% if text in [{}] %}}{{% elif text is string %}}{{{{ text[0] }}}}\
         {{% else %}}{{% endif %}}{{% raw %}}{{{{ x * y }}}}{{% endraw %}}{{# {{% set x = 1 %}} #}} {{{{ 'a' if text else 'b' }}}} {{{{ [1] | tojson(indent=8) }}}}{{{{ [1] | tojson(true) }}}}\n",
        list.join(", ")
    );
    let node = node(&body).expect("allowed");
    let endpoint = Endpoint::start(vec![text_reply("{\"a\": \"b\"}", "stop")]);
    let models = Models::at(&endpoint.url, "m").expect("an address");
    nodes::run(&node, input("abc"), &models).await.expect("a value");
    let asked = endpoint.requests().remove(0);
    let last = asked["messages"].as_array().and_then(|messages| messages.last()).expect("a message");
    assert_eq!(last["content"], "ABCTrue1212a{{ x * y }} a [\n        1\n][\n  1\n]");
}

/// A few instructions of a template can write much text.
#[tokio::test]
async fn a_message_without_end_is_cut_with_an_error() {
    let models = Models::at("http://127.0.0.1:9/v1", "m").expect("an address");
    let node = node("{% for a in range(1000) %}{{ text }}{% endfor %}").expect("valid");
    let failure = nodes::run(&node, input(&"x".repeat(100_000)), &models).await.expect_err("too long");
    assert!(failure.why.contains("a message has at most 32 MiB"), "{}", failure.why);
}

/// Forty levels of three equal alternatives need an impractical number of comparisons.
#[tokio::test]
async fn a_schema_that_multiplies_is_counted_before_the_validator_is_asked() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let again = json!({"type": "array", "items": {"$ref": "#/$defs/a"}});
    let defs = json!({"a": {"anyOf": [{"type": "integer"}, again, again, again]}});
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": defs});
    let text = |example: &str| format!("---\ndescription: A.\noutput: {{ schema: {schema} }}\n{example}---\nSay it.\n");
    let example = format!("examples: [ {{ input: {{}}, output: {{ x: {} }} }} ]\n", nested(40));
    let said = Node::parse("n", &text(&example)).unwrap_err()[0].to_string();
    assert!(
        said.starts_with("4: the example's output: the whole value: ") && said.contains("1000000 comparisons"),
        "{said}"
    );
    // An answer from a model; a value that is not deep is accepted.
    let answer = |depth| text_reply(&format!("{{\"x\": {}}}", nested(depth)), "stop");
    let endpoint = Endpoint::start(vec![answer(40), answer(3)]);
    let models = Models::at(&endpoint.url, "m").expect("an address");
    let node = Node::parse("n", &text("")).expect("valid");
    let done = nodes::run(&node, Map::new(), &models).await.expect("a value at last");
    assert_eq!(done.value, json!({"x": [[[1]]]}));
    assert!(done.ledger.attempts[0].problems[0].contains("1000000 comparisons"), "{:?}", done.ledger);
    // The same with doubling names without a cycle, and with references that cannot be counted.
    let doubled: Map<String, Value> = (0..40)
        .map(|at| {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            (format!("d{at}"), if at == 39 { json!({}) } else { json!({"allOf": [next, next]}) })
        })
        .collect();
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": doubled});
    let example = "examples: [ { input: {}, output: { x: 1 } } ]\n";
    let text = format!("---\ndescription: A.\noutput: {{ schema: {schema} }}\n{example}---\nSay it.\n");
    let said = Node::parse("n", &text).unwrap_err()[0].to_string();
    assert!(said.contains("1000000 comparisons"), "{said}");
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "b"}}, "$defs": {"b": {"$id": "b"}}});
    let text = format!("---\ndescription: A.\noutput: {{ schema: {schema} }}\n---\nSay it.\n");
    let said = Node::parse("n", &text).unwrap_err()[0].to_string();
    assert!(said.contains("b is an unresolved reference"), "{said}");
}

#[tokio::test]
async fn a_server_that_counts_more_tokens_than_there_are_numbers_is_believed_up_to_the_last() {
    let usage = json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX});
    let choice = json!({"message": {"content": "{}"}, "finish_reason": "stop"});
    let endpoint = Endpoint::start(vec![Reply(200, "", json!({"choices": [choice], "usage": usage}))]);
    let place = tempfile::tempdir().expect("a directory");
    let usage = Usage::new(place.path().join("usage.jsonl"), 1_000);
    let models = Models::at(&endpoint.url, "m").expect("an address");
    let text = "---\ndescription: N.\ninput: { schema: { text: string } }\noutput: { schema: { a: string } }\n---\n{{ text }}\n";
    let node = Node::parse("n", text).expect("valid");
    let means = RunContext { usage: Some(&usage), ..RunContext::new(&models) };
    let failure =
        nodes::run_with(&node, input("a"), means).await.expect_err("no value, and nothing left to ask for one");
    assert!(failure.why.contains(&format!("{} are spent", u64::MAX)), "{}", failure.why);
    assert_eq!(failure.ledger.tokens(), u64::MAX);
}

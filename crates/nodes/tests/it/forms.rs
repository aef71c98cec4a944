//! Schemas for servers: the sent form, the conversion of answers, and the effects of `policy.enforce` and `policy.repair`.

use nodes::cassette::{Cassettes, Mode};
use nodes::folder::Folder;
use nodes::schema::Dialect;
use nodes::{ModelSettings, Models, Node, NodesSettings, RunContext};
use serde_json::{Map, Value, json};

use crate::endpoint::{Endpoint, text_reply};

fn node(policy: &str, output: &Value) -> Node {
    let text = format!(
        "---\ndescription: A node.\nmodel: [first, second]\npolicy: {policy}\noutput: {{ schema: {output} }}\n---\nSay it.\n"
    );
    Node::parse("formed", &text).unwrap()
}

fn models(models: &[(&str, &Endpoint, Option<Dialect>)]) -> Models {
    let of = |(alias, endpoint, schema): &(&str, &Endpoint, Option<Dialect>)| {
        let model = ModelSettings { schema: *schema, ..ModelSettings::at(&endpoint.url, "m") };
        ((*alias).to_owned(), model)
    };
    Models::new(&NodesSettings { models: models.iter().map(of).collect(), ..NodesSettings::default() })
}

fn optional() -> Value {
    json!({"type": "object", "properties": {"why": {"type": "string"}, "score": {"type": "integer"}}, "required": ["score"]})
}

fn open() -> Value {
    json!({"type": "object", "additionalProperties": {"type": "integer"}})
}

#[tokio::test]
async fn the_strict_subset_is_sent_and_its_answer_means_what_the_node_states() {
    let endpoint = Endpoint::start(vec![text_reply(r#"{"why":null,"score":3}"#, "stop")]);
    let strict = models(&[("first", &endpoint, Some(Dialect::Strict))]);
    let done = nodes::run(&node("{ enforce: strict }", &optional()), Map::new(), &strict).await.unwrap();
    assert_eq!(done.value, json!({"score": 3}));
    assert_eq!(done.ledger.attempts[0].enforced, "decoder");
    let sent = &endpoint.requests()[0]["response_format"]["json_schema"];
    let wanted = json!({"name": "formed", "strict": true, "schema": {
        "type": "object",
        "required": ["why", "score"],
        "additionalProperties": false,
        "properties": {"why": {"type": ["string", "null"]}, "score": {"type": "integer"}},
    }});
    assert_eq!(sent, &wanted);
    // On a server that takes the unchanged schema, null is not a string.
    let endpoint = Endpoint::start(vec![text_reply(r#"{"why":null,"score":3}"#, "stop")]);
    let full = models(&[("first", &endpoint, None)]);
    let failure = nodes::run(&node("{ attempts: 1 }", &optional()), Map::new(), &full).await.unwrap_err();
    assert!(failure.why.contains("/why: it is not of type \"string\""), "{}", failure.why);
    assert_eq!(failure.ledger.attempts[0].enforced, "best_effort");
}

#[tokio::test]
async fn a_model_that_cannot_be_held_is_passed_over_or_said_not_to_be() {
    let (first, second) = (Endpoint::start(vec![]), Endpoint::start(vec![text_reply(r#"{"a":1}"#, "stop")]));
    let both = models(&[("first", &first, Some(Dialect::Strict)), ("second", &second, None)]);
    let done = nodes::run(&node("{ enforce: strict }", &open()), Map::new(), &both).await.unwrap();
    assert_eq!((done.value, done.ledger.attempts[0].model.as_str()), (json!({"a": 1}), "second"));
    assert_eq!(first.bodies().len(), 0);
    let alone = models(&[("first", &first, Some(Dialect::Strict))]);
    let failure = nodes::run(&node("{ enforce: strict }", &open()), Map::new(), &alone).await.unwrap_err();
    assert_eq!(
        failure.why,
        "no model can enforce the output schema of formed, and its policy.enforce is strict (first: its server does \
         not take additionalProperties at the root): change the output, name another model, or write enforce: prefer"
    );
    assert_eq!(first.bodies().len(), 0);
    // With `prefer` the model is asked without the promise, and the ledger shows that.
    let endpoint = Endpoint::start(vec![text_reply(r#"{"a":1}"#, "stop")]);
    let alone = models(&[("first", &endpoint, Some(Dialect::Strict))]);
    let done = nodes::run(&node("{ enforce: prefer }", &open()), Map::new(), &alone).await.unwrap();
    assert_eq!(done.ledger.attempts[0].enforced, "best_effort");
    let sent = &endpoint.requests()[0]["response_format"]["json_schema"];
    assert_eq!(sent, &json!({"name": "formed", "strict": false, "schema": open()}));
    // For a server without schema support, the schema is in the prompt.
    let endpoint = Endpoint::start(vec![text_reply(r#"{"a":1}"#, "stop")]);
    let alone = models(&[("first", &endpoint, Some(Dialect::None))]);
    let done = nodes::run(&node("{}", &open()), Map::new(), &alone).await.unwrap();
    assert_eq!(done.ledger.attempts[0].enforced, "none");
    let asked = &endpoint.requests()[0];
    assert_eq!(asked.get("response_format"), None);
    assert!(asked["messages"][0]["content"].as_str().unwrap().contains(&open().to_string()));
}

#[tokio::test]
async fn repaired_values_are_marked_and_truncated_ones_are_refused() {
    let nearly = "Here you are: {'why': 'it is good', 'score': 3,}";
    let mend = node("{ attempts: 2, repair: true }", &optional());
    let endpoint = Endpoint::start(vec![text_reply(nearly, "stop")]);
    let done = nodes::run(&mend, Map::new(), &models(&[("first", &endpoint, None)])).await.unwrap();
    assert_eq!(done.value, json!({"why": "it is good", "score": 3}));
    assert!(done.ledger.is_repaired() && done.ledger.attempts[0].repaired);
    // Without `repair`, the model is asked again. Valid JSON is never changed.
    let endpoint =
        Endpoint::start(vec![text_reply(nearly, "stop"), text_reply(r#"{"why":"{'a': 1,}","score":3}"#, "stop")]);
    let strict = node("{ attempts: 2 }", &optional());
    let done = nodes::run(&strict, Map::new(), &models(&[("first", &endpoint, None)])).await.unwrap();
    assert_eq!((done.value["why"].as_str(), done.ledger.is_repaired()), (Some("{'a': 1,}"), false));
    // A truncated answer has no value, complete or not, with any policy.
    for text in [nearly, r#"{"why":"a","score":3}"#, r#"{"why":"a"#, "{'why': 'a'"] {
        let endpoint = Endpoint::start(vec![text_reply(text, "length"), text_reply(text, "length")]);
        let failure = nodes::run(&mend, Map::new(), &models(&[("first", &endpoint, None)])).await.unwrap_err();
        assert_eq!(format!("{:?}", failure.kind), "Model(Truncated)", "{text}");
        assert!(!failure.ledger.is_repaired());
    }
    // A repaired value is validated like any other answer.
    let endpoint =
        Endpoint::start(vec![text_reply("{'score': 'high',}", "stop"), text_reply(r#"{"score":4}"#, "stop")]);
    let done = nodes::run(&mend, Map::new(), &models(&[("first", &endpoint, None)])).await.unwrap();
    assert_eq!((done.value, done.ledger.is_repaired()), (json!({"score": 4}), false));
    assert!(done.ledger.attempts[0].repaired);
}

#[tokio::test]
async fn a_recording_of_the_strict_subset_means_the_same_without_its_model() {
    let endpoint = Endpoint::start(vec![text_reply(r#"{"why":null,"score":3}"#, "stop")]);
    let strict = models(&[("first", &endpoint, Some(Dialect::Strict))]);
    let (node, place) = (node("{}", &optional()), tempfile::tempdir().unwrap());
    for (mode, models) in [(Mode::Record, &strict), (Mode::Replay, &strict), (Mode::Replay, &Models::default())] {
        let cassettes = Cassettes::new(mode);
        let folder = Folder::new(place.path(), "nodes");
        let means = RunContext { cassettes: Some((&cassettes, &folder)), ..RunContext::new(models) };
        let done = nodes::run_with(&node, Map::new(), means).await.unwrap();
        assert_eq!(done.value, json!({"score": 3}));
        // A replay costs nothing.
        assert_eq!(done.ledger.cost(), if mode == Mode::Record { None } else { Some(0.0) });
    }
    assert_eq!(endpoint.bodies().len(), 1);
}

#[test]
fn a_policy_that_cannot_be_meant_is_an_error_with_its_line() {
    let text = "---\ndescription: A.\noutput: { schema: string }\npolicy:\n  enforce: hard\n  repair: 1\n  timeout: 2\n---\nSay it.\n";
    let problems = Node::parse("a", text).unwrap_err();
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "5: `enforce` is strict or prefer",
            "6: `repair` is true or false",
            "7: `timeout` is a time such as 30s or 5m, at most 60m"
        ]
    );
}

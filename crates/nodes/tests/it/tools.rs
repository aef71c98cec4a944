//! The tools as an agent calls them, on a folder and without a daemon.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::{AnyTool, Context, LogLevel, NotifyError, Peer, Progress};
use nodes::tools::{Nodes, tools};
use nodes::usage::read_all;
use nodes::{Delegation, ModelSettings, Models, NodesSettings, Price};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::endpoint::{Endpoint, streams};
use crate::reloads::until;

const RATE: &str = r#"---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { reason: string ..50, score: integer 1..5 } }
policy: { attempts: 2 }
---
{% block system %}You rate texts.{% endblock %}
{% block user %}{{ text | data }}{% endblock %}
"#;

/// A worktree with the node `rate`.
struct Worktree {
    place: tempfile::TempDir,
    nodes: Arc<Nodes>,
    progress: Arc<Reports>,
}

/// A client that wants progress, and its reports.
#[derive(Default)]
struct Reports(Mutex<Vec<String>>);

impl Peer for Reports {
    fn notify(&self, _: &str, _: Box<RawValue>) -> Result<(), NotifyError> {
        Ok(())
    }

    fn progress(&self, progress: Progress) {
        self.0.lock().extend(progress.message);
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn log(&self, _: LogLevel, _: &str, _: Box<RawValue>) {}

    fn closed(&self) -> watch::Receiver<bool> {
        watch::channel(false).1
    }
}

/// The result of a call.
struct Answer {
    text: String,
    content: Value,
    ledger: Value,
    is_error: bool,
}

impl Worktree {
    /// Creates a worktree whose models have these names. Nobody listens at their address.
    fn new(models: &[&str]) -> Worktree {
        let model = |alias: &&str| ((*alias).to_owned(), ModelSettings::at("http://127.0.0.1:9/v1", "m"));
        Worktree::with(NodesSettings { models: models.iter().map(model).collect(), ..NodesSettings::default() })
    }

    fn with(settings: NodesSettings) -> Worktree {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        let delegation = Delegation::new(Some([7; 32]), state.join("delegated"));
        let nodes = Nodes::new(&settings, Models::new(&settings), delegation, &state, Arc::new(|_| ()));
        let worktree = Worktree { place, nodes: Arc::new(nodes), progress: Arc::default() };
        fs::create_dir_all(worktree.file("")).unwrap();
        worktree.write("rate", RATE);
        worktree
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("worktree")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root().join("nodes").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.file(&format!("{name}.node.md")), text).unwrap();
    }

    async fn call(&self, name: &str, arguments: Value) -> Answer {
        let tool = tools(&self.nodes).into_iter().find(|tool| tool.declaration().name == name).unwrap();
        self.call_tool(tool, arguments).await
    }

    async fn call_tool(&self, tool: Arc<dyn AnyTool>, arguments: Value) -> Answer {
        let caller = Arc::new(testkit::caller(&self.root(), "me"));
        let cx = Context::new(self.progress.clone(), caller, watch::channel(false).1, None);
        let arguments = RawValue::from_string(arguments.to_string()).unwrap();
        let (text, content, meta, is_error) = match tool.call(cx, Some(&arguments)).await {
            Ok(said) => {
                let content = said.structured.map(|content| serde_json::from_str(content.get()).unwrap());
                (said.content[0].as_text().unwrap().to_owned(), content, said.meta, said.is_error)
            }
            Err(error) => (error.to_string(), None, None, true),
        };
        let ledger = meta.map(|meta| meta["hob/ledger"].clone()).unwrap_or_default();
        Answer { text, content: content.unwrap_or_default(), ledger, is_error }
    }

    async fn run(&self, node: &str) -> Answer {
        self.call("node_run", json!({"node": node, "input": {"text": "It rained."}})).await
    }

    /// Begins a delegated call and returns its ticket.
    async fn begin(&self, text: &str) -> String {
        let asked = self.call("node_run", json!({"node": "rate", "input": {"text": text}})).await;
        asked.content["delegate"]["ticket"].as_str().unwrap_or_else(|| panic!("{}", asked.text)).to_owned()
    }

    async fn submit(&self, ticket: &str, score: u8) -> Answer {
        self.call("node_submit", json!({"ticket": ticket, "value": {"reason": "r", "score": score}})).await
    }

    async fn status(&self) -> String {
        self.call("nodes_status", json!({})).await.text
    }
}

#[track_caller]
fn check_says(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "`{word}` is not in: {said:.3000}");
    }
}

#[tokio::test]
async fn a_caller_answers_a_node_and_each_of_its_answers_counts_once() {
    let worktree = Worktree::new(&[]);
    let asked = worktree.run("rate").await;
    let delegate = &asked.content["delegate"];
    let (ticket, schema) = (delegate["ticket"].as_str().unwrap(), delegate["schema"].to_string());
    check_says(&asked.text, &[ticket, &schema, "You rate texts."]);
    let prompt: usize =
        delegate["messages"].as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap().len()).sum();
    assert!(asked.text.len() <= prompt + schema.len() + 600, "{}", asked.text);

    let tokens = json!({"in": 100, "out": 20});
    let wrong = json!({"ticket": ticket, "value": {"reason": "r", "score": 7}, "tokens": tokens});
    let rejected = worktree.call("node_submit", wrong.clone()).await;
    assert_eq!((&rejected.content["status"], rejected.is_error), (&json!("rejected"), false));
    check_says(&rejected.text, &["/score: it is greater than the maximum of 5, got 7", "one attempt is left"]);
    let attempt = &rejected.ledger["attempts"][0];
    assert_eq!((&attempt["class"], &attempt["tokens"]), (&json!("invalid"), &tokens));
    assert_eq!(rejected.ledger["total"], json!({"tokens": 120, "complete": true, "cost": null}));
    // The same submission again, as after a lost answer.
    let again = worktree.call("node_submit", wrong).await;
    check_says(&again.text, &["The value is the same as before and counts once", "one attempt is left"]);

    // A caller that does not know its tokens omits them.
    let accepted = worktree.submit(ticket, 4).await;
    assert_eq!(accepted.content, json!({"status": "accepted", "value": {"reason": "r", "score": 4}}));
    let attempt = &accepted.ledger["attempts"][0];
    assert_eq!((&attempt["class"], &attempt["via"]), (&json!("done"), &json!("delegate")));
    assert_eq!(accepted.ledger["total"], json!({"tokens": 0, "complete": false, "cost": null}));
    assert_eq!(worktree.submit(ticket, 4).await.content, accepted.content);
    let other = worktree.submit(ticket, 1).await;
    assert_eq!(other.content["value"]["score"], 4, "{}", other.text);
    let usage = read_all(&worktree.place.path().join("state/usage.jsonl")).unwrap();
    let counts = usage.iter().map(|spent| spent.tokens.map(|tokens| (tokens.input, tokens.output)));
    assert_eq!(counts.collect::<Vec<_>>(), [Some((100, 20)), None]);

    let misspelt = worktree.call("node_run", json!({"node": "rate", "input": {"txt": "a"}})).await;
    assert!(misspelt.is_error);
    check_says(&misspelt.text, &["\"text\" is missing (keys there: txt)", "The node's input: {\"type\":\"object\""]);
}

#[tokio::test]
async fn a_caller_whose_answers_are_not_accepted_is_told_what_to_do() {
    let worktree = Worktree::new(&[]);
    let spent = worktree.begin("a").await;
    check_says(&worktree.submit(&spent, 9).await.text, &["one attempt is left"]);
    check_says(&worktree.submit(&spent, 8).await.text, &["got 8", "That was the last attempt"]);
    let late = worktree.submit(&spent, 4).await.text;
    check_says(&late, &["No attempts are left, so this value was not validated; call rate again for a new ticket."]);
    assert!(!late.contains("got 8"), "{late}");

    let [one, two] = [worktree.begin("b").await, worktree.begin("b").await];
    for ticket in [&one, &two] {
        assert_eq!(worktree.submit(ticket, 9).await.content["status"], "rejected");
    }
    let third = worktree.begin("b").await;
    for ticket in [&one, &third, &two] {
        let stopped = worktree.submit(ticket, 9).await.content;
        assert_eq!(stopped["status"], "stop");
        assert!(stopped["next"].as_str().unwrap().starts_with("Stop"), "{stopped}");
        check_says(stopped["tell_user"].as_str().unwrap(), &["rate", stopped["problems"][0].as_str().unwrap()]);
    }
    for status in ["unknown", "unknown", "stop"] {
        assert_eq!(worktree.submit("please", 4).await.content["status"], status);
    }
}

#[tokio::test]
async fn a_value_that_is_nested_too_deeply_is_named() {
    let worktree = Worktree::new(&[]);
    let deep = (0..200).fold(json!(1), |value, _| json!([value]));
    let followed = worktree.nodes.follow(&worktree.root()).await;
    until(&followed, "it is checked", |served| served.entries.contains_key("rate")).await;
    let rate = worktree.nodes.tools_of(&followed).remove(0);
    for answer in [
        worktree.call("node_submit", json!({"ticket": "a", "value": deep})).await,
        worktree.call("node_run", json!({"node": "rate", "input": {"text": deep}})).await,
        worktree.call_tool(rate, json!({"text": deep})).await,
    ] {
        assert!(answer.is_error);
        check_says(&answer.text, &["it is nested too deeply; write it with at most 120 levels"]);
    }
}

#[tokio::test]
async fn files_that_cannot_be_nodes_are_named_and_the_others_run() {
    let worktree = Worktree::new(&[]);
    worktree.nodes.reserve(["send_message".to_owned()].into());
    let bomb: String = (1..12)
        .map(|level| format!("l{level}: &a{level} [{}]\n", [format!("*a{}", level - 1).as_str(); 10].join(",")))
        .collect();
    for (name, text) in [
        ("bomb", RATE.replace("---\ndesc", &format!("---\nl0: &a0 [x,x,x,x,x,x,x,x,x,x]\n{bomb}desc"))),
        ("climbs", RATE.replace("You rate", "{% include '../../home/.ssh/id_rsa' %}You rate")),
        ("deep", RATE.replace("{ text: string }", &"[".repeat(50_000))),
        ("large", format!("{RATE}{}", "x".repeat(1_000_000))),
        ("send_message", RATE.to_owned()),
        ("no name", RATE.to_owned()),
        ("a\u{1b}[31m", RATE.to_owned()),
        ("", RATE.to_owned()),
        ("other", RATE.replace("description", "name: rate\ndescription")),
    ] {
        worktree.write(name, &text);
    }
    fs::write(worktree.file("mood.md"), "Be kind.").unwrap();
    fs::write(worktree.file("mild.nodes.md"), RATE).unwrap();
    fs::create_dir(worktree.file("box.node.md")).unwrap();
    symlink("../elsewhere.md", worktree.file("far.node.md")).unwrap();
    let link = "nodes/far.node.md is a link, and links are not followed; replace it with the file";
    let misnamed = "nodes/mild.nodes.md is not a node file, because its name does not end with .node.md; if it should \
                    be one, rename it to mild.node.md";
    let said = worktree.status().await;
    check_says(
        &said,
        &[
            "nodes/bomb.node.md:",
            "it is too large: at most 20000 values",
            "nodes/climbs.node.md:7: ",
            "nodes/deep.node.md:",
            "nodes/large.node.md: ",
            "send_message is the name of one of hob's own tools",
            "nodes/no name.node.md: invalid node name; use 1 to 64 letters, digits, `_` and `-`",
            "nodes/.node.md is a suffix without a name",
            "nodes/other.node.md:2: `name` is \"rate\", but the file is named other.node.md; use the same name for both",
            "nodes/box.node.md is a directory instead of a file; rename it",
            link,
            misnamed,
        ],
    );
    assert!(!said.contains("mood.md") && !said.contains('\u{1b}'), "{said}");
    assert_eq!(worktree.run("rate").await.content["state"], "delegate");
    check_says(&worktree.run("far").await.text, &["unknown node \"far\": ", link]);
    check_says(&worktree.run("mild").await.text, &["unknown node \"mild\": ", misnamed]);
    let unknown = worktree.run("nosuch").await.text;
    assert!(unknown.contains("available: ") && !unknown.contains('\u{1b}'), "{unknown}");
    let one = worktree.call("nodes_status", json!({"node": "rate"})).await.content;
    assert_eq!(one.get("passed_over"), None, "{one}");
    // A watched folder notices that the file is renamed.
    let followed = worktree.nodes.follow(&worktree.root()).await;
    fs::rename(worktree.file("mild.nodes.md"), worktree.file("mild.node.md")).unwrap();
    until(&followed, "it is a node", |served| served.entries.contains_key("mild")).await;
    assert!(!worktree.status().await.contains("mild.nodes.md"));
}

#[tokio::test]
async fn nodes_that_would_fill_a_listing_are_called_through_node_run() {
    let worktree = Worktree::new(&[]);
    let wide: String = (0..200).map(|field| format!(", f{field}?: string")).collect();
    let large = RATE.replace("text: string }", &format!("text: string{wide} }}"));
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        worktree.write(name, &large.replace("Rates a text.", &"d".repeat(2_500)));
    }
    worktree.write("huge", &RATE.replace("Rates a text.", &"d".repeat(20_000)));
    let followed = worktree.nodes.follow(&worktree.root()).await;
    until(&followed, "all are checked", |served| served.entries.len() == 11).await;
    let listed = worktree.nodes.tools_of(&followed);
    let names: Vec<&str> = listed.iter().map(|tool| tool.declaration().name.as_str()).collect();
    assert!(names.contains(&"a") && names.contains(&"rate"), "{names:?}");
    assert!(!names.contains(&"i") && !names.contains(&"huge"), "{names:?}");
    let bytes = |tool: &Arc<dyn AnyTool>| {
        let declared = tool.declaration();
        declared.description.len() + declared.input_schema.to_string().len()
    };
    assert!(listed.iter().map(bytes).sum::<usize>() < 70_000);
    let status = worktree.status().await;
    assert!(status.len() < 20_000, "{}", status.len());
    check_says(&status, &["of 20000 bytes; nodes_status with `node` shows it"]);
    assert_eq!(status.matches("note: call it with node_run").count(), 2, "{status}");
    assert!(worktree.call("nodes_status", json!({"node": "huge"})).await.text.len() > 20_000);
    assert_eq!(worktree.run("huge").await.content["state"], "delegate");
}

#[tokio::test]
async fn a_model_that_cannot_be_used_is_named() {
    let large = RATE.replace("input:", "model: large\ninput:");
    let way = "add [nodes.models.\"large\"] with url and model, and restart the daemon (`hob stop`)";
    let small = Worktree::new(&["small"]);
    small.write("rate", &large);
    check_says(&small.run("rate").await.text, &["model large is not configured (configured: small)", way]);
    check_says(&small.status().await, &["cannot run: model large is not configured (configured: small)"]);
    let several = Worktree::new(&["other", "small"]).run("rate").await.text;
    check_says(&several, &["there are several (other, small): set nodes.model, or `model` in the node's file"]);
    let none = Worktree::new(&[]);
    let on = |model: &str| json!({"node": "rate", "input": {"text": "a"}, "model": model});
    let said = none.call("node_run", on("large")).await.text;
    check_says(&said, &["model large is not configured (no models are configured)", way]);
    assert_eq!(none.call("node_run", on("delegate")).await.content["state"], "delegate");

    let key = small.root().join("key");
    let run = async |key_file: Option<PathBuf>, key_env: Option<&str>| {
        let model = ModelSettings {
            key_file,
            key_env: key_env.map(str::to_owned),
            ..ModelSettings::at("http://127.0.0.1:9/v1", "m")
        };
        let settings = NodesSettings { models: [("paid".to_owned(), model)].into(), ..NodesSettings::default() };
        Worktree::with(settings).run("rate").await.text
    };
    let private = "a file that only you can read (chmod 600)";
    let said = run(Some(key.clone()), None).await;
    check_says(&said, &["the model \"paid\" cannot be used: its key_file ", private]);
    fs::write(&key, "sk-1\n").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    check_says(&run(Some(key), None).await, &[private]);
    let unset = run(None, Some("HOB_NO_SUCH_API_KEY")).await;
    check_says(&unset, &["its key_env HOB_NO_SUCH_API_KEY is not set here"]);
}

#[tokio::test]
async fn a_check_of_a_link_quotes_nothing_from_outside() {
    let worktree = Worktree::new(&[]);
    fs::write(worktree.place.path().join("y.node.md"), "---\nplanted-9f3: 1\n---\n").unwrap();
    symlink("../../y.node.md", worktree.file("x.node.md")).unwrap();
    symlink("..", worktree.root().join("home")).unwrap();
    for path in ["nodes/x.node.md", "home/y.node.md"] {
        let said = worktree.call("node_check", json!({"path": path})).await.text;
        assert!(said.contains("is a link, and links are not followed") && !said.contains("planted"), "{said}");
    }
}

#[tokio::test]
async fn a_directory_that_is_a_file_is_named() {
    let worktree = Worktree::new(&[]);
    fs::remove_dir_all(worktree.file("")).unwrap();
    fs::write(worktree.root().join("nodes"), "a file").unwrap();
    let words = ["nodes/ is not a directory", "make it one, or set another in nodes.path"];
    check_says(&worktree.status().await, &words);
    check_says(&worktree.run("rate").await.text, &words);
}

#[tokio::test]
async fn a_caller_that_wants_progress_is_told_how_many_tokens_have_come() {
    let endpoint = Endpoint::raw(vec![streams(&[r#"{"reason":"#, r#""short","#, r#""score":3}"#], Some("stop"))]);
    let price = Some(Price { input: 2.0, output: 10.0, cached: None });
    let model = ModelSettings { price, ..ModelSettings::at(&endpoint.url, "m") };
    let models = [("local".to_owned(), model)].into();
    let worktree = Worktree::with(NodesSettings { models, ..NodesSettings::default() });
    let answer = worktree.run("rate").await;
    assert_eq!(answer.text, r#"A model's answer: {"reason":"short","score":3}"#);
    // Ten tokens in, and three out.
    assert_eq!(answer.ledger["total"], json!({"tokens": 13, "complete": true, "cost": 0.00005}));
    // No part of the value is shown.
    let reports = worktree.progress.0.lock().clone();
    assert_eq!(reports.last().map(String::as_str), Some("3 tokens so far"));
    assert!(reports.iter().all(|report| report.ends_with(" so far")), "{reports:?}");
    let asked = &endpoint.requests()[0];
    assert_eq!((&asked["stream"], &asked["stream_options"]["include_usage"]), (&json!(true), &json!(true)));
}

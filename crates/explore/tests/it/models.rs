//! Walks that a model ranks, with a model that answers, fails, hangs or invents; and the records of their decisions.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use explore::control::{Method, on_records};
use explore::tools::{ModelAnswer, ModelNode, tidepool};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use crate::{Dependencies, Worktree};

type Input = Map<String, Value>;
/// Returns the value of a model, or an error; `None` if it never answers.
type Answer = fn(&Input) -> Option<Result<Value, String>>;

/// A model that answers once this many calls run at the same time.
struct Model {
    answer: Answer,
    at_once: usize,
    calls: AtomicUsize,
    running: AtomicUsize,
    most_running: AtomicUsize,
}

impl ModelNode for Model {
    fn estimate(&self, _: &Input) -> u64 {
        200
    }

    fn ask(&self, input: Input) -> Pin<Box<dyn Future<Output = ModelAnswer> + Send + '_>> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::SeqCst);
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_running.fetch_max(running, Ordering::SeqCst);
            // The last batch may be smaller, so the number of turns is limited.
            for _ in 0..10_000 {
                if self.most_running.load(Ordering::SeqCst) < self.at_once {
                    tokio::task::yield_now().await;
                }
            }
            let Some(value) = (self.answer)(&input) else { return std::future::pending().await };
            self.running.fetch_sub(1, Ordering::SeqCst);
            ModelAnswer { value, tokens: 120 }
        })
    }
}

/// Returns the dependencies of a call with this model.
fn with_model(at_once: usize, answer: Answer) -> (Arc<Model>, Dependencies) {
    let [calls, running, most_running] = [(); 3].map(|()| AtomicUsize::new(0));
    let model = Arc::new(Model { answer, at_once, calls, running, most_running });
    let shared: Arc<dyn ModelNode> = model.clone();
    (model, Dependencies { model: Ok(Some(shared)), ..Dependencies::default() })
}

/// Selects all candidates but the square, in reversed order.
fn without_square(input: &Input) -> Option<Result<Value, String>> {
    let candidates = input["candidates"].as_array().unwrap().iter().rev();
    let names: Vec<&Value> = candidates.map(|one| &one["name"]).filter(|name| *name != "Square").collect();
    Some(Ok(json!({"selected": names, "reason": "the square is incidental"})))
}

/// Rates types higher than everything else.
fn rates(input: &Input) -> Option<Result<Value, String>> {
    Some(Ok(json!({"reason": "r", "relevance": if input["use"] == "type" { 5 } else { 2 }})))
}

/// Selects a definition that does not exist, or rates beyond the scale.
fn invents(_: &Input) -> Option<Result<Value, String>> {
    Some(Ok(json!({"selected": ["Circle", "Triangle"], "relevance": 9})))
}

fn shapes() -> Worktree {
    Worktree::new(&[
        ("Cargo.toml", "[package]\nname = \"shapes\"\n"),
        (
            "src/lib.rs",
            "pub struct Circle { pub radius: f64 }\npub struct Square { pub side: f64 }\npub struct Label(pub String);\n\
             pub enum Shape { Round(Circle), Edged(Square), Named(Label) }\n\
             pub fn area(shape: &Shape) -> f64 {\n    match shape { Shape::Round(c) => c.radius, Shape::Edged(s) => s.side, Shape::Named(_) => 0.0 }\n}\n\
             pub fn total(shapes: &[Shape]) -> f64 { shapes.iter().map(area).sum() }\n\
             pub fn unit() -> Shape { Shape::Round(Circle { radius: 1.0 }) }\n\
             pub fn empty() -> Vec<Shape> { Vec::new() }\n",
        ),
    ])
}

/// Calls `teach-graph` or `scout` with further arguments.
fn ask(worktree: &Worktree, dependencies: &Dependencies, tool: &str, more: Value) -> Result<Value, String> {
    let mut arguments = match tool {
        "scout" => json!({"query": "What breaks if I add a variant to Shape?", "depth": "low"}),
        _ => json!({"topic": "areas", "seeds": ["Shape"]}),
    };
    let more = more.as_object().unwrap().clone();
    arguments.as_object_mut().unwrap().extend(more);
    worktree.ask_by(dependencies, tool, arguments)
}

/// Returns an answer without who decided and how long it took.
fn facts(mut answer: Value) -> Value {
    for name in ["selector", "model", "run", "trainingExamples", "shown"] {
        answer.as_object_mut().unwrap().remove(name);
    }
    answer["head"]["elapsed_ms"] = Value::Null;
    answer
}

fn listed(found: &Value) -> Vec<&str> {
    let parts = ["core", "prereqs", "support"].iter().flat_map(|part| found[part].as_array().unwrap());
    parts.map(|unit| unit["symbol"]["name"].as_str().unwrap()).collect()
}

#[test]
fn a_model_orders_and_drops_definitions() {
    let worktree = shapes();
    let all = ["Shape", "Circle", "Square", "Label"];
    let found = ask(&worktree, &Dependencies::default(), "teach-graph", json!({})).unwrap();
    assert_eq!((&found["selector"], &found["model"]), (&json!("rules"), &Value::Null));
    assert_eq!(listed(&found), all);
    let (model, dependencies) = with_model(1, without_square);
    let found = ask(&worktree, &dependencies, "teach-graph", json!({})).unwrap();
    assert_eq!((&found["selector"], listed(&found)), (&json!("model"), vec!["Shape", "Circle", "Label"]));
    let calls = model.calls.swap(0, Ordering::SeqCst);
    let wanted = json!({"calls": calls, "fallbacks": 0, "tokens": calls * 120, "switched_off": false});
    assert_eq!(found["model"], wanted);
    // The budget of two leaves room for one definition: the model's first choice. It is also the limit of the calls.
    let found = ask(&worktree, &dependencies, "teach-graph", json!({"budget": 2, "selector": "model"})).unwrap();
    assert_eq!(listed(&found), ["Shape", "Label"]);
    assert!(model.calls.swap(0, Ordering::SeqCst) <= 2);
    // The rules do not ask a model.
    let found = ask(&worktree, &dependencies, "teach-graph", json!({"selector": "rules"})).unwrap();
    assert_eq!((listed(&found), model.calls.load(Ordering::SeqCst)), (all.to_vec(), 0));
    let few = Dependencies { tokens: 100, ..dependencies };
    let found = ask(&worktree, &few, "teach-graph", json!({"selector": "model"})).unwrap();
    assert_eq!((&found["selector"], &found["model"]["calls"]), (&json!("rules"), &json!(0)));
    assert_eq!(found["model"]["problem"], "explore.tokens allows 100 tokens for a walk");
    assert_eq!((listed(&found), model.calls.load(Ordering::SeqCst)), (all.to_vec(), 0));
}

#[test]
fn a_model_that_fails_changes_nothing() {
    let worktree = shapes();
    for (tool, more, invented) in [
        ("teach-graph", json!({"seeds": ["total", "area", "unit"], "wait_ms": 4000}), "`Triangle` is not a candidate"),
        ("scout", json!({"wait_ms": 4000}), "`relevance` is not 1 to 5"),
    ] {
        let rules = facts(ask(&worktree, &Dependencies::default(), tool, more.clone()).unwrap());
        let answers: [(Answer, &str); 3] = [
            (|_| Some(Err("no connection".to_owned())), "no connection"),
            (|_| None, "no answer within"),
            (invents, invented),
        ];
        for (answer, problem) in answers {
            let found = ask(&worktree, &with_model(1, answer).1, tool, more.clone()).unwrap();
            let model = found["model"].clone();
            assert_eq!((&model["fallbacks"], &model["switched_off"]), (&model["calls"], &json!(true)), "{model}");
            // Three in a row, and those that were asked at the same time.
            assert!([3, 4].contains(&model["calls"].as_u64().unwrap()), "{model}");
            assert!(model["problem"].as_str().unwrap().contains(problem), "{problem}: {model}");
            assert!(!found.to_string().contains("Triangle\""), "{found:#}");
            assert_eq!(facts(found), rules, "{problem}");
        }
    }
    // A node that cannot be used is an error if a model is wanted.
    let dependencies =
        Dependencies { model: Err("nodes/rate_edge.node.md is invalid".to_owned()), ..Dependencies::default() };
    let found = ask(&worktree, &dependencies, "scout", json!({})).unwrap();
    assert_eq!(
        (&found["selector"], &found["model"]["problem"]),
        (&json!("rules"), &json!("nodes/rate_edge.node.md is invalid"))
    );
    let refused = ask(&worktree, &dependencies, "scout", json!({"selector": "model"})).unwrap_err();
    assert_eq!(refused, "nodes/rate_edge.node.md is invalid");
}

#[test]
fn a_model_rates_the_relevance_and_never_the_risk() {
    let worktree = shapes();
    let rules = ask(&worktree, &Dependencies::default(), "scout", json!({})).unwrap();
    let (model, dependencies) = with_model(4, rates);
    let found = ask(&worktree, &dependencies, "scout", json!({"selector": "model"})).unwrap();
    assert_eq!((&found["selector"], &found["model"]["fallbacks"]), (&json!("model"), &json!(0)), "{found:#}");
    assert_eq!(model.most_running.load(Ordering::SeqCst), 4);
    assert!(model.calls.load(Ordering::SeqCst) <= 10);
    let risks = |found: &Value| {
        let pointers = found["pointers"].as_array().unwrap().iter();
        let mut risks: Vec<String> =
            pointers.map(|one| format!("{} {} {}", one["location"], one["risk"], one["tags"])).collect();
        risks.sort();
        risks
    };
    assert_eq!(risks(&found), risks(&rules));
    for one in found["pointers"].as_array().unwrap() {
        let is_type = one["why"] == "uses Shape" && one["what"].as_str().unwrap().starts_with("type");
        assert_eq!(one["relevance"], if is_type { 5 } else { 2 }, "{one}");
    }
    assert!(found["shown"].as_str().unwrap().contains("ranked by a model: "), "{found:#}");
}

#[test]
fn the_tools_of_tidepool_answer_with_json() {
    let worktree = shapes();
    let arguments = to_raw_value(&json!({"query": "rename", "symbols": "area"})).unwrap();
    let mut all = tidepool(&worktree.sources(&Dependencies::default()));
    let names: Vec<&str> = all.iter().map(|tool| tool.declaration().name.as_str()).collect();
    assert_eq!(names, ["teach-graph", "scout"]);
    let call = all.remove(1).call(worktree.context(&Dependencies::default()), Some(&arguments));
    let outcome = worktree.block_on(call).unwrap();
    let found: Value = serde_json::from_str(outcome.content[0].as_text().unwrap()).unwrap();
    for field in ["summary", "nodesVisited", "trainingExamples"] {
        assert!(!found[field].is_null(), "{field}: {found:#}");
    }
}

/// Calls a method on records. Returns its text and its structured result.
fn on(
    worktree: &Worktree,
    dependencies: &Dependencies,
    method: Method,
    runs: &[&str],
) -> Result<(String, Value), String> {
    let params = to_raw_value(&json!({ "runs": runs })).unwrap();
    let called = on_records(method, worktree.sources(dependencies), worktree.context(dependencies), Some(params));
    let result = worktree.block_on(called).map_err(|error| error.message)?;
    let result: Value = serde_json::from_str(result.get()).unwrap();
    Ok((result["content"][0]["text"].as_str().unwrap().to_owned(), result["structuredContent"].clone()))
}

fn record_of(worktree: &Worktree, run: &str) -> PathBuf {
    worktree.path().with_extension("records").join(format!("{run}.jsonl"))
}

#[test]
fn decisions_are_recorded_and_made_again() {
    let worktree = shapes();
    let (_, selecting) = with_model(1, without_square);
    let (_, rating) = with_model(1, rates);
    let run = |dependencies: &Dependencies, tool: &str, selector: &str| {
        let found = ask(&worktree, dependencies, tool, json!({"record": true, "selector": selector})).unwrap();
        found["run"].as_str().unwrap().to_owned()
    };
    let taught = run(&selecting, "teach-graph", "model");
    let (scouted, by_rules) = (run(&rating, "scout", "auto"), run(&rating, "scout", "rules"));
    for run in [&taught, &scouted, &by_rules] {
        let mode = std::fs::metadata(record_of(&worktree, run)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let export = |runs: &[&str]| on(&worktree, &rating, Method::Export, runs).unwrap().1["records"].clone();
    let records = export(&[&taught, &scouted]);
    let first = &records[0];
    let members = ["node", "topic", "symbol", "depth", "used"].map(|name| first[name].clone());
    assert_eq!(members, [json!("select_symbols"), json!("areas"), json!("Shape"), json!(0), json!("model")]);
    assert_eq!(first["rules"]["selected"], json!(["Circle", "Square", "Label"]));
    assert_eq!(first["model"]["selected"], json!(["Label", "Circle"]));
    let edges: Vec<&Value> = records.as_array().unwrap().iter().filter(|one| one["node"] == "rate_edge").collect();
    assert!(edges.iter().all(|one| one["location"].as_str().unwrap().starts_with("src/lib.rs:")), "{edges:#?}");
    for member in ["query", "change", "hover", "snippet", "use", "depth"] {
        assert!(edges.iter().all(|one| !one[member].is_null()), "{member}: {edges:#?}");
    }
    assert!(edges.iter().any(|one| one["rules"]["risk"] == 5 && one["model"]["relevance"] == 2), "{edges:#?}");
    let records = export(&[&by_rules]);
    let is_of_rules = |one: &Value| one["used"] == "rules" && one["model"].is_null();
    assert!(records.as_array().unwrap().iter().all(is_of_rules), "{records:#}");
    let refused = on(&worktree, &rating, Method::Export, &["../scout-1"]).unwrap_err();
    assert!(refused.starts_with(&format!("unknown run `../scout-1`; available: {scouted}")), "{refused}");

    let (text, found) = on(&worktree, &rating, Method::Compare, &[&by_rules]).unwrap();
    assert!(
        text.contains(" by the model: the same relevance in ") && text.contains(" 0 of them decided by rules"),
        "{text}"
    );
    let rated = &found["rate_edge"];
    assert_eq!((&rated["decisions"], &found["rules_changed"]), (&rated["answered"], &json!(0)), "{found:#}");
    assert_eq!(rated["model"]["tokens"].as_u64(), rated["model"]["calls"].as_u64().map(|calls| calls * 120));
    let agreement = rated["agreement"].as_f64().unwrap();
    assert!(agreement > 0.0 && agreement < 1.0 && found["ms"].is_u64(), "{found:#}");
    let (text, _) = on(&worktree, &selecting, Method::Compare, &[&taught]).unwrap();
    assert!(text.contains("select_symbols: ") && text.contains("the same first choice in 0"), "{text}");
}

#[test]
fn the_variables_of_tidepool_record_into_a_folder_of_the_project() {
    let worktree = shapes();
    let scout = |folder: &str| {
        let variables = [("TEACHING_ENABLED", "true"), ("TEACHING_OUTPUT_DIR", folder)];
        let asked_env: BTreeMap<String, String> =
            variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        ask(&worktree, &Dependencies { asked_env, ..Dependencies::default() }, "scout", json!({}))
    };
    let found = scout("training/data").unwrap();
    let run = found["run"].as_str().unwrap();
    let copy = std::fs::read_to_string(worktree.path().join(format!("training/data/{run}.jsonl"))).unwrap();
    assert_eq!(copy, std::fs::read_to_string(record_of(&worktree, run)).unwrap());
    let (example, pointer) = (&found["trainingExamples"][0], &found["pointers"][0]);
    assert_eq!(
        (&example["node"]["location"], &example["rubric"]["risk"], &example["rubric"]["tags"]),
        (&pointer["location"], &pointer["risk"], &pointer["tags"])
    );
    assert_eq!(example["query"]["query"], "What breaks if I add a variant to Shape?");
    let outside = worktree.path().with_extension("outside");
    symlink(worktree.path().parent().unwrap(), worktree.path().join("linked")).unwrap();
    let linked = format!("linked/{}", outside.file_name().unwrap().to_str().unwrap());
    for folder in [&*format!("../{}", linked.trim_start_matches("linked/")), outside.to_str().unwrap(), &linked] {
        let refused = scout(folder).unwrap_err();
        assert!(refused.contains("TEACHING_OUTPUT_DIR must name a folder inside the project"), "{refused}");
    }
    assert!(!outside.exists());
}

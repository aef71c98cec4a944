//! Walks that a model ranks, with a model server that answers, fails, hangs or invents; and the records of their decisions.

mod recorded;
mod server;

use serde_json::{Value, json};
use testkit::{Ran, TestProject};

use self::server::{Behaviour, Server};
use crate::fresh;

/// Creates a project about shapes, without a language server, whose model is at this address.
fn project(model: Option<&str>) -> TestProject {
    let project = fresh();
    let model = model.map(|url| format!("[nodes]\nmodels.local = {{ url = \"{url}/v1\", model = \"m\" }}\n"));
    let servers = "[code.servers.rust-analyzer]\nenabled = false\n";
    project.write("hob.toml", &format!("{servers}{}", model.unwrap_or_default()));
    project.write("Cargo.toml", "[package]\nname = \"shapes\"\n");
    project.write(
        "src/lib.rs",
        "pub struct Circle { pub radius: f64 }\npub struct Square { pub side: f64 }\npub struct Label(pub String);\n\
         pub enum Shape { Round(Circle), Edged(Square), Named(Label) }\n\
         pub fn area(shape: &Shape) -> f64 {\n    match shape { Shape::Round(c) => c.radius, Shape::Edged(s) => s.side, Shape::Named(_) => 0.0 }\n}\n\
         pub fn total(shapes: &[Shape]) -> f64 { shapes.iter().map(area).sum() }\n\
         pub fn unit() -> Shape { Shape::Round(Circle { radius: 1.0 }) }\n\
         pub fn empty() -> Vec<Shape> { Vec::new() }\n",
    );
    project
}

const TEACH: [&str; 6] = ["teach", "areas", "--seeds", "Shape", "--json", "--selector"];
const SCOUT: [&str; 6] =
    ["scout", "What breaks if I add a variant to Shape?", "--depth", "low", "--json", "--selector"];

fn ask(project: &TestProject, call: &[&str], selector: &str) -> Value {
    serde_json::from_str(&project.run(call.iter().chain([&selector])).ok()).unwrap()
}

/// Returns an answer without who decided and how long it took.
fn facts(mut answer: Value) -> Value {
    for name in ["selector", "model", "run", "trainingExamples"] {
        answer.as_object_mut().unwrap().remove(name);
    }
    answer["head"]["elapsed_ms"] = Value::Null;
    answer
}

/// Returns the candidates in a prompt.
fn candidates(prompt: &str) -> Vec<String> {
    let line = prompt.lines().find(|line| line.starts_with("[{")).unwrap_or("[]");
    let list: Vec<Value> = serde_json::from_str(line).unwrap();
    list.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// Selects all candidates but the square, in reversed order.
fn without_square(prompt: &str) -> String {
    let mut names = candidates(prompt);
    names.retain(|name| name != "Square");
    names.reverse();
    json!({"selected": names, "reason": "the square is incidental"}).to_string()
}

/// Selects a definition that does not exist, or rates beyond the scale.
fn invents(prompt: &str) -> String {
    let value = if prompt.contains("Candidates") {
        json!({"selected": ["Circle", "Triangle"], "reason": "r"})
    } else {
        json!({"reason": "r", "relevance": 9})
    };
    value.to_string()
}

/// Rates types higher than everything else.
fn rates(prompt: &str) -> String {
    let relevance = if prompt.contains("(type,") { 5 } else { 2 };
    json!({"reason": "r", "relevance": relevance}).to_string()
}

fn listed(found: &Value) -> Vec<&str> {
    let parts = ["core", "prereqs", "support"].iter().flat_map(|part| found[part].as_array().unwrap());
    parts.map(|unit| unit["symbol"]["name"].as_str().unwrap()).collect()
}

#[test]
fn without_a_model_the_rules_decide() {
    let project = project(None);
    let found = ask(&project, &TEACH, "auto");
    assert_eq!((&found["selector"], &found["model"]), (&json!("rules"), &Value::Null));
    assert_eq!(listed(&found), ["Shape", "Circle", "Square", "Label"]);
    let refused = project.run(TEACH.iter().chain([&"model"]));
    assert!(refused.stdout.contains("no model is configured"), "{refused:?}");
}

#[test]
fn a_model_orders_and_drops_definitions() {
    let server = Server::start(Behaviour::Answers(without_square, "stop"));
    let project = project(Some(&server.url));
    let found = ask(&project, &TEACH, "auto");
    assert_eq!(found["selector"], "model");
    assert_eq!(listed(&found), ["Shape", "Circle", "Label"]);
    let model = &found["model"];
    assert_eq!((&model["fallbacks"], &model["switched_off"]), (&json!(0), &json!(false)), "{model}");
    let calls = u64::try_from(server.requests().len()).unwrap();
    assert_eq!((&model["calls"], &model["tokens"]), (&json!(calls), &json!(calls * 120)));
    // The budget of two leaves room for one definition: the model's first choice. It is also the limit of the calls.
    server.behave(Behaviour::Answers(without_square, "stop"));
    let small = ["teach", "areas", "--seeds", "Shape", "--json", "--budget", "2", "--selector"];
    assert_eq!(listed(&ask(&project, &small, "model")), ["Shape", "Label"]);
    assert!(server.requests().len() <= 2);
    // The rules ask nobody.
    server.behave(Behaviour::Answers(without_square, "stop"));
    assert_eq!(listed(&ask(&project, &TEACH, "rules")), ["Shape", "Circle", "Square", "Label"]);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_model_that_fails_changes_nothing() {
    let server = Server::start(Behaviour::Closes);
    let project = project(Some(&server.url));
    let wide = ["teach", "areas", "--seeds", "total,area,unit", "--json", "--wait-ms", "4000", "--selector"];
    let scout = [&SCOUT[..5], &["--wait-ms", "4000", "--selector"]].concat();
    for call in [&wide[..], &scout[..]] {
        let rules = facts(ask(&project, call, "rules"));
        for (behaviour, problem) in [
            (Behaviour::Closes, "127.0.0.1"),
            (Behaviour::Fails(500), "500"),
            (Behaviour::Fails(401), "401"),
            (Behaviour::Hangs, "no answer within"),
            (Behaviour::Answers(|_| "I do not know.".to_owned(), "stop"), "not JSON"),
            (Behaviour::Answers(|_| String::new(), "content_filter"), "withheld"),
            (Behaviour::Answers(without_square, "length"), "cut"),
            (
                Behaviour::Answers(invents, "stop"),
                if call[0] == "teach" { "`Triangle` is not a candidate" } else { "5" },
            ),
        ] {
            server.behave(behaviour);
            let found = ask(&project, call, "auto");
            let model = found["model"].clone();
            assert_eq!((&model["fallbacks"], &model["switched_off"]), (&model["calls"], &json!(true)), "{model}");
            // Three in a row, and those that were asked at the same time.
            assert!([3, 4].contains(&model["calls"].as_u64().unwrap()), "{model}");
            assert!(model["problem"].as_str().unwrap().contains(problem), "{problem}: {model}");
            assert!(!found.to_string().contains("Triangle\""), "{found:#}");
            assert_eq!(facts(found), rules, "{problem}");
        }
    }
}

#[test]
fn a_model_rates_the_relevance_and_never_the_risk() {
    let server = Server::start(Behaviour::Together(4, rates));
    let project = project(Some(&server.url));
    let rules = ask(&project, &SCOUT, "rules");
    let found = ask(&project, &SCOUT, "model");
    assert_eq!((&found["selector"], &found["model"]["fallbacks"]), (&json!("model"), &json!(0)), "{found:#}");
    assert_eq!(server.most_at_once(), 4);
    assert!(server.requests().len() <= 10);
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
    let text = project.run(&SCOUT[..4]).ok();
    assert!(text.contains("ranked by a model: "), "{text}");
}

#[test]
fn a_walk_has_a_limit_of_tokens() {
    let server = Server::start(Behaviour::Answers(without_square, "stop"));
    let project = project(Some(&server.url));
    let settings = project.read("hob.toml");
    project.write("hob.toml", &format!("{settings}[explore]\ntokens = 300\n"));
    let found = ask(&project, &TEACH, "model");
    assert_eq!((&found["selector"], &found["model"]["calls"]), (&json!("rules"), &json!(0)));
    assert_eq!(found["model"]["problem"], "explore.tokens allows 300 tokens for a walk");
    assert_eq!((listed(&found).len(), server.requests().len()), (4, 0));
}

#[test]
fn a_file_of_the_worktree_replaces_the_built_in_node() {
    let server = Server::start(Behaviour::Answers(rates, "stop"));
    let project = project(Some(&server.url));
    project.write("nodes/rate_edge.node.md", "---\n---\n");
    let refused = project.run(SCOUT.iter().chain([&"model"]));
    assert!(refused.stdout.contains("nodes/rate_edge.node.md"), "{refused:?}");
    let found = ask(&project, &SCOUT, "auto");
    assert_eq!((&found["selector"], found["model"]["problem"].is_string()), (&json!("rules"), true), "{found:#}");
    let node = "---\ndescription: Mine.\ninput: { schema: { query: string, \"(*)\": any } }\noutput: { schema: { relevance: integer 1..5 } }\n---\nMine: {{ query }}\n";
    project.write("nodes/rate_edge.node.md", node);
    let found = ask(&project, &SCOUT, "model");
    assert!(server.requests().iter().all(|one| one.to_string().contains("Mine: What breaks")), "{found:#}");
    // The answers have another member.
    assert_eq!(found["model"]["switched_off"], true, "{found:#}");
}

#[test]
fn gemma_endpoint_names_an_ollama_server_on_this_machine() {
    let server = Server::start(Behaviour::Answers(rates, "stop"));
    let project = project(None);
    let ask = |endpoint: &str, selector: &str| {
        Ran::run(project.hob(SCOUT.iter().chain([&selector])).env("GEMMA_ENDPOINT", endpoint))
    };
    let found: Value = serde_json::from_str(&ask(&server.url, "auto").ok()).unwrap();
    assert_eq!(found["selector"], "model", "{found:#}");
    assert!(server.requests().iter().all(|one| one["model"] == "functiongemma"));
    let refused = ask("https://models.example.org", "model");
    assert!(refused.stdout.contains("GEMMA_ENDPOINT names another machine"), "{refused:?}");
    let found: Value = serde_json::from_str(&ask("http://models.example.org", "auto").ok()).unwrap();
    assert_eq!(found["selector"], "rules");
    assert!(found["model"]["problem"].as_str().unwrap().contains("not encrypted"), "{found:#}");
}

//! Recordings of the engine's answers, replayed after it was stopped, by commands and through the daemon.

use std::io::Write;

use ::nodes::engine::EngineThread;
use serde_json::{Value, json};
use testkit::TestProject;

use super::{RATE, tool};
use crate::{fresh, says};

/// Starts the offline engine that `cargo xtask setup` installs; `None`, reported as skipped, without it. CI must have it.
fn engine() -> Option<EngineThread> {
    let binary = std::env::current_exe().unwrap();
    let venv = binary.ancestors().nth(3).unwrap().join("tools/llm");
    if venv.join("bin/python").is_file() {
        return Some(EngineThread::start(&venv).unwrap_or_else(|error| panic!("{error}")));
    }
    assert!(std::env::var_os("CI").is_none(), "the offline engine is not installed, and CI must have everything");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {test}: the offline engine is not installed (`cargo xtask setup`)");
    None
}

/// Returns an agent's results of each node for each text, with their sources.
fn called(project: &TestProject) -> Vec<(String, Value)> {
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let described = tool(&mut peer, "rate").unwrap()["description"].to_string();
    assert!(described.contains("model engine, on this machine"), "{described}");
    let mut all = Vec::new();
    for name in ["rate", "weigh"] {
        for text in ["It rained.", "Snow fell on the ridge."] {
            let result = peer.result("tools/call", json!({"name": name, "arguments": {"text": text}}));
            let got = json!([result["content"], result["structuredContent"], result["isError"]]).to_string();
            all.push((got, result["_meta"]["hob/ledger"]["attempts"][0]["via"].clone()));
        }
    }
    all
}

#[test]
fn what_the_engine_said_is_replayed_with_it_stopped() {
    let Some(engine) = engine() else { return };
    let project = fresh();
    let model = format!("[nodes]\nmodels.engine = {{ url = \"{}\", model = \"fixed\" }}\n", engine.url());
    let settings = |mode: &str| project.write("hob.toml", &format!("{model}cassettes = \"{mode}\"\n"));
    let tested = RATE.replace("policy:", "tests: [ { input: { text: It rained. }, expect: { /score: 1 } } ]\npolicy:");
    for name in ["rate", "weigh"] {
        project.write(&format!("nodes/{name}.node.md"), &tested);
    }
    let recorded = || ["rate", "weigh"].map(|name| project.read(&format!("nodes/cassettes/{name}.jsonl")));
    settings("record");
    let first = called(&project);
    assert!(first.iter().all(|(got, via)| via == "direct" && got.contains(r#""score":1"#)), "{first:?}");
    // A script gets the cost of a call next to its value. No token left the machine.
    let ran = project.run(["node", "run", "rate", r#"{"text": "It rained."}"#, "--json"]).ok();
    let ran: Value = serde_json::from_str(&ran).unwrap();
    assert_eq!((&ran["state"], &ran["result"]["score"]), (&json!("done"), &json!(1)));
    let total = &ran["ledger"]["total"]["tokens"];
    assert!(ran["ledger"]["attempts"][0]["model"] == "engine" && total.as_u64() > Some(0), "{ran}");
    let usage = project.run(["node", "usage"]).ok();
    assert!(usage.contains("rate") && usage.contains("0 of 200000 tokens were sent off"), "{usage}");
    project.run(["stop"]).ok();
    let before = recorded();
    assert!(before.iter().all(|text| text.lines().count() == 2), "{before:?}");
    settings("replay");
    drop(engine);
    let again = called(&project);
    assert!(again.iter().all(|(_, via)| via == "cassette"), "{again:?}");
    let got = |calls: &[(String, Value)]| calls.iter().map(|(got, _)| got.clone()).collect::<Vec<_>>();
    assert_eq!(got(&again), got(&first), "byte by byte");
    let said = project.run(["node", "test"]).ok();
    assert_eq!(said.matches(": ok, ").count(), 2, "{said}");
    assert_eq!(recorded(), before, "a replay writes nothing");

    // One changed letter in one prompt: exactly its entries are stale, and the failure names them.
    project.write("nodes/rate.node.md", &tested.replace("You rate", "You rake"));
    let ran = project.run(["node", "test"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let stale = "this call of rate is not recorded in cassettes/rate.jsonl: the nearest entry, ";
    says(&ran.stdout, &["rate:5: failed", "weigh:5: ok, ", stale, "`hob node record rate` records it"]);
    let third = called(&project);
    assert!(third[..2].iter().all(|(got, _)| got.contains(stale)), "{third:?}");
    assert_eq!(got(&third[2..]), got(&first[2..]));
    // Only recordings that no node refers to are removed.
    let swept = project.run(["node", "gc"]).ok();
    assert!(swept.starts_with("2 recordings removed, 2 kept"), "{swept}");
    assert_eq!(project.read("nodes/cassettes/weigh.jsonl"), before[1]);
}

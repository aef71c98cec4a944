//! Recordings of the engine's answers, replayed after it was stopped, by commands and through the daemon.

use serde_json::{Value, json};
use testkit::TestProject;

use super::{RATE, engine, names_model};
use crate::fresh;

/// Returns the recordings of both nodes.
fn recorded(project: &TestProject) -> [String; 2] {
    ["rate", "weigh"].map(|name| project.read(&format!("nodes/cassettes/{name}.jsonl")))
}

/// Returns an agent's results of each node for each text, with their sources.
fn called(project: &TestProject) -> Vec<(Value, Value)> {
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let mut all = Vec::new();
    for name in ["rate", "weigh"] {
        for text in ["It rained.", "Snow fell on the ridge."] {
            let result = peer.result("tools/call", json!({"name": name, "arguments": {"text": text}}));
            let got = json!({"content": result["content"], "structured": result["structuredContent"], "error": result["isError"]});
            all.push((got, result["_meta"]["hob/ledger"]["attempts"][0]["via"].clone()));
        }
    }
    all
}

#[test]
fn what_the_engine_said_is_replayed_with_it_stopped() {
    let Some(engine) = engine() else { return };
    let project = fresh();
    let settings =
        |mode: &str| project.write("hob.toml", &format!("{}cassettes = \"{mode}\"\n", names_model(engine.url())));
    let tested = RATE.replace("policy:", "tests: [ { input: { text: It rained. }, expect: { /score: 1 } } ]\npolicy:");
    for name in ["rate", "weigh"] {
        project.write(&format!("nodes/{name}.node.md"), &tested);
    }
    settings("record");
    let first = called(&project);
    assert!(first.iter().all(|(_, via)| via == "direct"), "{first:?}");
    project.run(["stop"]).ok();
    let before = recorded(&project);
    assert!(before.iter().all(|text| text.lines().count() == 2), "{before:?}");
    settings("replay");
    drop(engine);
    let again = called(&project);
    assert!(again.iter().all(|(_, via)| via == "cassette"), "{again:?}");
    let got = |calls: &[(Value, Value)]| calls.iter().map(|(got, _)| got.to_string()).collect::<Vec<_>>();
    assert_eq!(got(&again), got(&first), "byte by byte");
    let tests = |project: &TestProject| {
        let ran = project.run(["node", "test"]);
        (ran.code, ran.stdout)
    };
    let (code, said) = tests(&project);
    assert!(code == Some(0) && said.matches(": ok, ").count() == 2, "{said}");
    assert_eq!(recorded(&project), before, "a replay writes nothing");

    // One changed letter in one prompt: exactly its entries are stale, and the failure names them.
    project.write("nodes/rate.node.md", &tested.replace("You rate", "You rake"));
    let (code, said) = tests(&project);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("rate:5: failed") && said.contains("weigh:5: ok, "), "{said}");
    let why = [
        "this call of rate is not recorded in cassettes/rate.jsonl: the nearest entry, ",
        " differs in the version of the node, the messages; `hob node record rate` records it",
    ];
    assert!(why.iter().all(|why| said.contains(why)), "{said}");
    let stale = called(&project);
    assert!(stale[..2].iter().all(|(got, _)| got["error"] == true && got.to_string().contains(why[0])), "{stale:?}");
    assert_eq!(got(&stale[2..]), got(&first[2..]));
    // Only recordings that no node refers to are removed.
    let swept = project.run(["node", "gc"]).ok();
    assert!(swept.starts_with("2 recordings removed, 2 kept"), "{swept}");
    assert_eq!(project.read("nodes/cassettes/weigh.jsonl"), before[1]);
}

#[test]
fn two_tests_of_one_line_are_told_apart() {
    let project = fresh();
    let tests = "tests: [ { input: { text: a } }, { input: { text: b } } ]\nexamples:\n- { input: { text: c }, output: { reason: r, score: 1 } }\npolicy:";
    project.write("nodes/rate.node.md", &RATE.replace("policy:", tests));
    let ran = project.run(["node", "test"]);
    for name in ["rate:5 #1: failed", "rate:5 #2: failed", "rate:7: failed"] {
        assert!(ran.stdout.contains(name), "{name}: {ran:?}");
    }
}

#[test]
fn what_nobody_answered_is_no_result_to_accept() {
    let project = fresh();
    let tests = "tests: [ { input: { text: a } }, { input: { text: b } } ]\npolicy:";
    project.write("nodes/rate.node.md", &RATE.replace("policy:", tests));
    let baseline = project.root().join("nodes/baseline.json");
    // Without recordings, without a model, and with an unreachable model.
    for command in [&["node", "test", "--accept"][..], &["node", "test", "--engine", "live", "--accept"]] {
        let ran = project.run(command.iter().copied());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let why = "2 of 2 tests have no result, because nobody answered; no baseline was written";
        assert!(ran.stderr.contains(why) && !baseline.exists(), "{ran:?}");
    }
    for command in [&["node", "test"][..], &["node", "record"]] {
        let ran = project.run(command.iter().copied());
        assert!(ran.code == Some(1) && !ran.stderr.contains("--accept"), "{ran:?}");
    }
    // A baseline of such runs, as an earlier version wrote it, excuses no failure.
    let node = ::nodes::Node::parse("rate", &project.read("nodes/rate.node.md")).unwrap();
    let known: serde_json::Map<String, Value> =
        node.trials.iter().map(|trial| (trial.id.clone(), json!({"passes": false, "passed": 0, "of": 1}))).collect();
    project.write("nodes/baseline.json", &json!({"cassette": {"rate": known}}).to_string());
    let ran = project.run(["node", "test"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

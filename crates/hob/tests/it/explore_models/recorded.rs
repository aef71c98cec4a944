//! Records of decisions, their exports and the comparison.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Ran, TestProject};

use super::server::{Behaviour, Server};
use super::{ask, project, rates, without_square};

const TEACH: [&str; 7] = ["teach", "areas", "--seeds", "Shape", "--record", "--json", "--selector"];
const SCOUT: [&str; 7] =
    ["scout", "What breaks if I add a variant to Shape?", "--depth", "low", "--record", "--json", "--selector"];

/// Exports runs; one JSON object a line.
fn export(project: &TestProject, runs: &[&str], format: &str) -> Vec<Value> {
    let text = project.run(["explore", "export", "--format", format].iter().chain(runs)).ok();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn record_of(project: &TestProject, run: &str) -> PathBuf {
    project.state_dir().join(format!("explore/records/{run}.jsonl"))
}

#[test]
fn decisions_are_recorded_and_exported() {
    let server = Server::start(Behaviour::Answers(without_square, "stop"));
    let project = project(Some(&server.url));
    let taught = ask(&project, &TEACH, "model");
    server.behave(Behaviour::Answers(rates, "stop"));
    let scouted = ask(&project, &SCOUT, "auto");
    let by_rules = ask(&project, &SCOUT, "rules");
    let run = |found: &Value| found["run"].as_str().unwrap().to_owned();
    let (taught, scouted, by_rules) = (run(&taught), run(&scouted), run(&by_rules));
    for run in [&taught, &scouted, &by_rules] {
        let mode = std::fs::metadata(record_of(&project, run)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let records = export(&project, &[&taught, &scouted], "raw");
    let first = &records[0];
    assert_eq!(
        (&first["node"], &first["topic"], &first["symbol"], &first["depth"], &first["used"]),
        (&json!("select_symbols"), &json!("areas"), &json!("Shape"), &json!(0), &json!("model"))
    );
    assert_eq!(first["rules"]["selected"], json!(["Circle", "Square", "Label"]));
    assert_eq!(first["model"]["selected"], json!(["Label", "Circle"]));
    let edges: Vec<&Value> = records.iter().filter(|one| one["node"] == "rate_edge").collect();
    assert!(edges.iter().all(|one| one["location"].as_str().unwrap().starts_with("src/lib.rs:")), "{edges:#?}");
    for member in ["query", "change", "hover", "snippet", "use", "depth"] {
        assert!(edges.iter().all(|one| !one[member].is_null()), "{member}: {edges:#?}");
    }
    assert!(edges.iter().any(|one| one["rules"]["risk"] == 5 && one["model"]["relevance"] == 2), "{edges:#?}");
    let records = export(&project, &[&by_rules], "raw");
    assert!(records.iter().all(|one| one["used"] == "rules" && one["model"].is_null()), "{records:#?}");

    let chats = export(&project, &[&taught, &scouted], "chat");
    let roles = |chat: &Value| -> Vec<String> {
        chat["messages"].as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap().to_owned()).collect()
    };
    assert!(chats.iter().all(|chat| roles(chat) == ["system", "user", "assistant"]));
    let content = |index: usize| -> Value {
        serde_json::from_str(chats[0]["messages"][index]["content"].as_str().unwrap()).unwrap()
    };
    assert_eq!(content(2), json!({"reason": "the square is incidental", "selected": ["Label", "Circle"]}));
    assert_eq!((&content(1)["topic"], &content(1)["rules"]), (&json!("areas"), &Value::Null));

    let texts = export(&project, &[&taught, &scouted], "functiongemma");
    let text = texts[0]["text"].as_str().unwrap();
    assert!(
        text.contains("Topic: areas\nSymbol: Shape\n") && text.contains("\nFields: Circle, Square, Label"),
        "{text}"
    );
    assert!(
        text.contains(
            "<start_function_call>call:select_symbols{selected:<escape>Label,Circle<escape>}<end_function_call>"
        ),
        "{text}"
    );
    let text = texts.last().unwrap()["text"].as_str().unwrap();
    assert!(text.contains("call:rate_edge{relevance:"), "{text}");

    let refused = project.run(["explore", "export", "../scout-1"]);
    assert!(refused.stderr.contains(&format!("unknown run `../scout-1`; available: {scouted}")), "{refused:?}");
}

#[test]
fn the_comparison_asks_the_model_again() {
    let server = Server::start(Behaviour::Answers(rates, "stop"));
    let project = project(Some(&server.url));
    let run = ask(&project, &SCOUT, "rules")["run"].as_str().unwrap().to_owned();
    let text = project.run(["explore", "compare", &run]).ok();
    assert!(
        text.contains(" by the model: the same relevance in ") && text.contains(" 0 of them decided by rules"),
        "{text}"
    );
    let found: Value = serde_json::from_str(&project.run(["explore", "compare", &run, "--json"]).ok()).unwrap();
    let rated = &found["rate_edge"];
    assert_eq!((&rated["decisions"], &found["rules_changed"]), (&rated["answered"], &json!(0)), "{found:#}");
    assert_eq!(rated["model"]["tokens"].as_u64(), rated["model"]["calls"].as_u64().map(|calls| calls * 120));
    let agreement = rated["agreement"].as_f64().unwrap();
    assert!(agreement > 0.0 && agreement < 1.0 && found["ms"].is_u64(), "{found:#}");
    let run = ask(&project, &TEACH, "rules")["run"].as_str().unwrap().to_owned();
    server.behave(Behaviour::Answers(without_square, "stop"));
    let text = project.run(["explore", "compare", &run]).ok();
    assert!(text.contains("select_symbols: ") && text.contains("the same first choice in 0"), "{text}");
}

#[test]
fn the_variables_of_tidepool_record_into_a_folder_of_the_project() {
    let project = project(None);
    let scout = |folder: &str| {
        let mut command = project.hob(&SCOUT[..4]);
        Ran::run(command.args(["--json"]).env("TEACHING_ENABLED", "true").env("TEACHING_OUTPUT_DIR", folder))
    };
    let found: Value = serde_json::from_str(&scout("training/data").ok()).unwrap();
    let run = found["run"].as_str().unwrap();
    let copy = project.read(&format!("training/data/{run}.jsonl"));
    assert_eq!(copy, std::fs::read_to_string(record_of(&project, run)).unwrap());
    let example = &found["trainingExamples"][0];
    let pointer = &found["pointers"][0];
    assert_eq!(
        (&example["node"]["location"], &example["rubric"]["risk"], &example["rubric"]["tags"]),
        (&pointer["location"], &pointer["risk"], &pointer["tags"])
    );
    assert_eq!(example["query"]["query"], "What breaks if I add a variant to Shape?");
    symlink(project.top(), project.root().join("linked")).unwrap();
    for folder in ["../outside", "/tmp/outside", "linked/outside"] {
        let refused = scout(folder);
        assert!(refused.stdout.contains("TEACHING_OUTPUT_DIR must name a folder inside the project"), "{refused:?}");
    }
    assert!(!project.top().join("outside").exists());
}

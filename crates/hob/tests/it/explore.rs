//! `hob teach` and `hob scout` with the server of a model, and with grants. `crates/explore/tests` tests walks, diffs,
//! decisions, language servers and proofs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use testkit::Ran;
use testkit::model_server::{ModelRequest, ModelServer, answer, completion};

use crate::fresh;

const TEACH: [&str; 6] = ["teach", "areas", "--seeds", "Shape", "--json", "--selector"];
const SCOUT: [&str; 6] =
    ["scout", "What breaks if I add a variant to Shape?", "--depth", "low", "--json", "--selector"];

/// Selects all candidates but the square, in reversed order; rates types higher than everything else.
fn decide(request: &ModelRequest) -> String {
    let prompt = request.prompt();
    let value = if let Some(line) = prompt.lines().find(|line| line.starts_with("[{")) {
        let candidates: Vec<Value> = serde_json::from_str(line).unwrap();
        let names = candidates.iter().rev().map(|one| one["name"].clone()).filter(|name| *name != "Square");
        json!({"selected": names.collect::<Vec<_>>(), "reason": "the square is incidental"})
    } else {
        json!({"reason": "r", "relevance": if prompt.contains("(type,") { 5 } else { 2 }})
    };
    answer(200, "", &completion(&value.to_string(), "stop"))
}

#[test]
fn a_configured_model_decides_until_it_fails() {
    let fails = Arc::new(AtomicBool::new(false));
    let is_failing = fails.clone();
    let server = ModelServer::start(move |request| {
        let broken = json!({"error": {"message": "broken"}});
        if is_failing.load(Ordering::SeqCst) { answer(500, "", &broken) } else { decide(request) }
    });
    let project = fresh();
    project.write("hob.toml", &(server.settings("local") + "[code.servers.rust-analyzer]\nenabled = false\n"));
    project.write(
        "src/lib.rs",
        "pub struct Circle { pub radius: f64 }\npub struct Square { pub side: f64 }\npub struct Label(pub String);\n\
         pub enum Shape { Round(Circle), Edged(Square), Named(Label) }\n\
         pub fn area(shape: &Shape) -> f64 {\n    match shape { Shape::Round(c) => c.radius, Shape::Edged(s) => s.side, Shape::Named(_) => 0.0 }\n}\n\
         pub fn unit() -> Shape { Shape::Round(Circle { radius: 1.0 }) }\n",
    );
    let ask = |call: &[&str], more: &[&str]| -> Value {
        serde_json::from_str(&project.run(call.iter().chain(more)).ok()).unwrap()
    };
    let taught = ask(&TEACH, &["model", "--record"]);
    let order = taught["order"].as_array().unwrap().len();
    let calls = server.take_requests().len();
    assert_eq!((&taught["selector"], order), (&json!("model"), 3), "{taught:#}");
    assert_eq!(taught["model"], json!({"calls": calls, "fallbacks": 0, "tokens": calls * 12, "switched_off": false}));
    // The usual model of an Ollama server on this machine.
    let mut command = project.hob(SCOUT.iter().chain([&"auto"]));
    command.env("GEMMA_ENDPOINT", server.url.replace("127.0.0.1", "localhost").trim_end_matches("/v1"));
    let found: Value = serde_json::from_str(&Ran::run(&mut command).ok()).unwrap();
    assert_eq!(found["selector"], "model", "{found:#}");
    assert!(server.take_requests().iter().all(|one| one.body()["model"] == "functiongemma"));
    let scouted = ask(&SCOUT, &["auto", "--record"]);
    assert_eq!((&scouted["selector"], &scouted["model"]["fallbacks"]), (&json!("model"), &json!(0)), "{scouted:#}");
    // The records are exported, and the model decides them again.
    let [taught, scouted] = [&taught, &scouted].map(|found| found["run"].as_str().unwrap());
    let chat = project.run(["explore", "export", "--format", "chat", taught, scouted]).ok();
    let chat: Vec<Value> = chat.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(chat.len() > 2 && chat.iter().all(|one| one["messages"][2]["role"] == "assistant"), "{chat:#?}");
    let texts = project.run(["explore", "export", "--format", "functiongemma", taught, scouted]).ok();
    assert!(texts.contains("call:select_symbols{selected:") && texts.contains("call:rate_edge{relevance:"), "{texts}");
    let compared = project.run(["explore", "compare", taught]).ok();
    assert!(compared.contains("the same first choice in 0"), "{compared}");

    // A file of the worktree replaces the built-in node.
    project.write("nodes/rate_edge.node.md", "---\n---\n");
    let refused = project.run(SCOUT.iter().chain([&"model"]));
    assert!(refused.stdout.contains("nodes/rate_edge.node.md"), "{refused:?}");
    let node = "---\ndescription: Mine.\ninput: { schema: { query: string, \"(*)\": any } }\noutput: { schema: { relevance: integer 1..5 } }\n---\nMine: {{ query }}\n";
    project.write("nodes/rate_edge.node.md", node);
    server.take_requests();
    let found = ask(&SCOUT, &["model"]);
    assert!(server.take_requests().iter().all(|one| one.prompt().contains("Mine: What breaks")), "{found:#}");
    // The answers have another member.
    assert_eq!(found["model"]["switched_off"], true, "{found:#}");
    std::fs::remove_file(project.root().join("nodes/rate_edge.node.md")).unwrap();

    fails.store(true, Ordering::SeqCst);
    let found = ask(&SCOUT, &["auto"]);
    let model = &found["model"];
    assert_eq!((&model["fallbacks"], &model["switched_off"]), (&model["calls"], &json!(true)), "{model}");
    assert!(model["problem"].as_str().unwrap().contains("500"), "{model}");
}

#[test]
fn a_proof_runs_no_build_script_before_the_project_is_trusted() {
    let project = fresh();
    project.write("Cargo.toml", "[package]\nname = \"shapes\"\nedition = \"2024\"\n");
    project
        .write("src/lib.rs", "pub enum Shape { Flat }\npub fn name(s: Shape) -> u8 { match s { Shape::Flat => 1 } }\n");
    let ran = project.home().join("ran");
    project.write("build.rs", &format!("fn main() {{ std::fs::write({ran:?}, \"\").unwrap(); }}\n"));
    // The toolchain is in the home of the user who runs the tests.
    let toolchains = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let toolchains = toolchains.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".rustup"));
    let prove = || {
        let mut command = project.command("hob");
        Ran::run(command.args(["scout", "add a variant to Shape", "--prove"]).env("RUSTUP_HOME", &toolchains)).ok()
    };
    let text = prove();
    assert!(
        text.contains("not proven: the compiler may run code of this project; allow it with `hob trust`"),
        "{text}"
    );
    assert!(!ran.exists());
    project.run(["trust", "--yes"]).ok();
    let text = prove();
    assert!(text.contains("uses break (1 proved by cargo check)"), "{text}");
    assert!(ran.exists());
}

//! Permission to run a project's code: who may grant it, and where it is shown.

use serde_json::Value;
use testkit::{Ran, TestProject};

use crate::fresh;

/// Returns the state of the permission in `hob status`.
fn trust(project: &TestProject) -> Value {
    let status: Value = serde_json::from_str(&project.run(["status", "--json"]).ok()).unwrap();
    status["code_trust"].clone()
}

#[test]
fn a_person_grants_it_and_no_agent() {
    let project = fresh();
    project.write("Cargo.toml", "[package]\nname = \"made\"\n");
    project.write("src/main.rs", "fn main() {}\n");
    project.run(["call", "repl_list"]).ok();
    assert_eq!(trust(&project), Value::Null);
    let status = project.run(["status"]).ok();
    assert!(status.contains("may not run: rust-analyzer waits for `hob trust`"), "{status}");
    // An agent that runs `hob init` sets up everything except this permission.
    let by_agent = Ran::run(project.command("hob").args(["init", "--agent", "claude"]).env("CLAUDECODE", "1")).ok();
    assert!(by_agent.contains("are disabled until you run `hob trust`: this was started by Claude Code"), "{by_agent}");
    assert!(by_agent.contains("Wrote hob.toml"), "{by_agent}");
    let refused = Ran::run(project.command("hob").args(["trust", "--yes"]).env("CLAUDECODE", "1"));
    assert!(refused.stderr.contains("an agent must not answer for its user"), "{refused:?}");
    assert_eq!(trust(&project), Value::Null);

    // Without a terminal, `hob init` does not grant it either.
    let without = project.run(["init", "--agent", "claude"]).ok();
    assert!(without.contains("`hob trust --yes` without a terminal"), "{without}");
    assert_eq!(trust(&project), Value::Null);

    project.run(["trust", "--yes"]).ok();
    assert_eq!(trust(&project), "granted");
    let doctor = project.run(["doctor", "--quick"]).stdout;
    assert!(doctor.contains("granted: language servers may run"), "{doctor}");
    project.run(["trust", "--revoke"]).ok();
    assert_eq!(trust(&project), Value::Null);
    project.run(["trust", "--yes"]).ok();
    assert_eq!(trust(&project), "granted");
    project.run(["init", "--undo"]).ok();
    assert_eq!(trust(&project), Value::Null);

    // The agent's own list of trusted folders, in the home.
    let codex = project.home().join(".codex");
    std::fs::create_dir_all(&codex).unwrap();
    let trusted = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", project.root());
    std::fs::write(codex.join("config.toml"), &trusted).unwrap();
    assert_eq!(trust(&project), "Codex trusts this folder");
    std::fs::remove_dir_all(codex).unwrap();
    project.write(".codex/config.toml", &trusted);
    assert_eq!(trust(&project), Value::Null);
}

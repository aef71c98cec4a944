//! `hob hooks install`, and `hob doctor`'s test of the installed entries: each runs with a daemon, with a killed one, with a
//! hanging one, and without hob.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::TestProject;

use crate::fresh;

/// Creates a Claude Code that prints this version.
fn says_version(project: &TestProject, version: &str) {
    let path = project.top().join("bin/claude");
    fs::write(&path, format!("#!/bin/sh\necho '{version}'\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the report of `hob doctor`.
fn report(project: &TestProject) -> Value {
    serde_json::from_str(&project.run(["doctor", "--json"]).stdout).unwrap()
}

/// Returns doctor's results for an agent's entry before a tool call: the state, the output, the effect, and the verdict.
fn proven(report: &Value, agent: &str) -> Vec<String> {
    let entries = report["hooks"].as_array().unwrap();
    let gate = entries.iter().find(|entry| entry["agent"] == agent && entry["states"] != json!([]));
    let gate = gate.unwrap_or_else(|| panic!("{report:#}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let states = gate["states"].as_array().unwrap().iter();
    states
        .map(|state| {
            let holds = if state["holds"] == true { "" } else { ", NOT AS PROMISED" };
            format!("{}: {}, {}{holds}", text(&state["state"]), text(&state["came"]), text(&state["effect"]))
        })
        .collect()
}

#[test]
fn every_fail_mode_is_proven_and_holds() {
    // In parallel, since most of the time is spent in deadlines.
    std::thread::scope(|scope| {
        for fail in ["open", "ask", "closed"] {
            scope.spawn(move || fail_mode_is_proven_and_holds(fail));
        }
    });
}

fn fail_mode_is_proven_and_holds(fail: &str) {
    let all = ["claude", "codex", "gemini", "cursor", "copilot", "opencode"];
    let project = fresh();
    says_version(&project, "2.1.331 (Claude Code)");
    for agent in all {
        project.run(["hooks", "install", "--agent", agent, "--fail", fail]).ok();
    }
    let report = report(&project);
    for agent in all {
        // An agent that cannot ask denies instead.
        let hanging = match (fail, agent) {
            ("open", _) => "hanging: nothing, runs",
            ("ask", "claude" | "copilot") => "hanging: asked, asks",
            _ => "hanging: denied, blocked",
        };
        let gone = match (fail, agent) {
            ("open", "claude" | "opencode") => "gone: missing, runs",
            ("open", _) => "gone: nothing, runs",
            (_, "claude" | "opencode") => "gone: missing, blocked",
            _ => "gone: denied, blocked",
        };
        let mut found = proven(&report, agent);
        // The next daemon may or may not be ready within the deadline; both outcomes are as promised.
        let killed = found.remove(1);
        assert!(killed.starts_with("killed: ") && !killed.contains("NOT"), "{agent} {fail}: {killed}");
        assert_eq!(found, ["there: denied, blocked", hanging, gone], "{agent} {fail}");
    }
    let doctor = project.run(["doctor"]).stdout;
    // Codex runs no hook that has not been reviewed.
    assert!(doctor.contains("!! Codex: ") && doctor.contains("has not reviewed all of hob's hooks"), "{doctor}");
    assert!(doctor.contains("ok Claude Code: ") && doctor.contains("hob gone, it was not started"), "{doctor}");
    // No process is left, and nothing in the project has changed.
    assert!(project.processes().is_empty(), "{:?}", project.processes());
    assert!(!project.state_dir().join("log/hooks.jsonl").exists());
    let quick = project.run(["doctor", "--quick"]).stdout;
    assert!(quick.contains("not tested because of --quick"), "{quick}");
}

#[test]
fn what_does_not_hold_is_red() {
    let project = fresh();
    says_version(&project, "2.1.197 (Claude Code)");
    // By hand, in the user's own file: versions before 2.1.295 silently ignore the switch.
    let hob = project.top().join("bin/hob");
    let entry = json!({"hooks": {"PreToolUse": [{"hooks": [{
        "type": "command", "command": hob, "args": ["hook", "PreToolUse", "--agent", "claude", "--fail", "closed"],
        "timeout": 10, "onFailure": "block",
    }]}]}});
    fs::create_dir_all(project.home().join(".claude")).unwrap();
    fs::write(project.home().join(".claude/settings.json"), entry.to_string()).unwrap();
    assert_eq!(
        proven(&report(&project), "claude"),
        [
            "there: denied, blocked",
            "killed: denied, blocked",
            "hanging: denied, blocked",
            "gone: missing, runs, NOT AS PROMISED"
        ]
    );
    let doctor = project.run(["doctor"]);
    assert_eq!(doctor.code, Some(5));
    let red = "`--fail closed` promises that a tool is blocked, and it runs";
    assert!(doctor.stdout.contains("!! Claude Code: ") && doctor.stdout.contains(red), "{}", doctor.stdout);
    // After reinstalling, the entry holds again; a disabled entry does not run at all.
    project.run(["hooks", "install", "--agent", "claude", "--scope", "user"]).ok();
    assert_eq!(proven(&report(&project), "claude")[3], "gone: denied, blocked");
    project.write(".claude/settings.json", r#"{"disableAllHooks": true}"#);
    let doctor = project.run(["doctor"]).stdout;
    assert!(doctor.contains("Claude Code has all hooks disabled"), "{doctor}");
}

#[test]
fn an_entry_that_came_with_a_checkout_is_not_run() {
    let project = fresh();
    project.write("hob", &format!("#!/bin/sh\ntouch {}/evil\n", project.root().display()));
    fs::set_permissions(project.root().join("hob"), fs::Permissions::from_mode(0o755)).unwrap();
    for command in [
        "touch evil; hob hook PreToolUse --agent claude --fail open",
        "./hob hook PreToolUse --agent claude --fail open || exit 0",
    ] {
        let entry = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}});
        project.write(".claude/settings.json", &entry.to_string());
        let doctor = project.run(["doctor"]);
        assert!(doctor.stdout.contains("PreToolUse was not run: it "), "{}", doctor.stdout);
        assert_eq!(doctor.code, Some(5));
        assert!(!project.root().join("evil").exists());
    }
}

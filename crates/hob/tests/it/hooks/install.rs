//! `hob hooks install`, and `hob doctor`'s test of the installed entries: each runs with a daemon, with a killed one, with a
//! hanging one, and without hob.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::TestProject;

use super::DENIES;
use crate::fresh;

const LOCAL: &str = ".claude/settings.local.json";

/// Creates a program with this name that prints this version.
fn says_version(project: &TestProject, name: &str, version: &str) {
    let path = project.top().join("bin").join(name);
    fs::write(&path, format!("#!/bin/sh\necho '{version}'\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns doctor's results for an agent's entry before a tool call: the state, the output, the effect, and the verdict.
fn proven(project: &TestProject, agent: &str) -> Vec<String> {
    proven_in(&json_of(&project.run(["doctor", "--json"]).stdout), agent)
}

/// Returns the results of [`proven`] from a report of doctor.
fn proven_in(report: &Value, agent: &str) -> Vec<String> {
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
fn on_failure_is_for_versions_that_take_it() {
    for (version, switch) in [("2.1.294 (Claude Code)", Value::Null), ("2.1.295 (Claude Code)", json!("block"))] {
        let project = fresh();
        says_version(&project, "claude", version);
        let said = project.run(["hooks", "install", "--agent", "claude", "--fail", "closed"]).ok();
        assert_eq!(said.contains("supports `onFailure` since 2.1.295"), switch.is_null(), "{said}");
        let file = json_of(&project.read(LOCAL));
        let handler = |event: &str| file["hooks"][event][0]["hooks"][0].clone();
        let gate = handler("PreToolUse");
        assert_eq!(gate["onFailure"], switch);
        let hob = project.top().join("bin/hob").display().to_string();
        if switch.is_null() {
            assert_eq!(gate["command"], format!("{hob} hook PreToolUse --agent claude --fail closed || exit 2"))
        } else {
            assert_eq!(
                (&gate["command"], &gate["args"]),
                (&json!(hob), &json!(["hook", "PreToolUse", "--agent", "claude", "--fail", "closed"]))
            )
        }
        // Events that no rule can block fail open.
        assert_eq!(handler("Stop")["onFailure"], Value::Null);
        project.run(["hooks", "uninstall"]).ok();
        assert!(!project.root().join(".claude").exists());
    }
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
    says_version(&project, "claude", "2.1.331 (Claude Code)");
    for agent in all {
        project.run(["hooks", "install", "--agent", agent, "--fail", fail]).ok();
    }
    let report = json_of(&project.run(["doctor", "--json"]).stdout);
    for agent in all {
        // An agent that cannot ask denies instead.
        let hanging = match (fail, agent) {
            ("open", _) => "hanging: nothing, runs",
            ("ask", "claude" | "copilot") => "hanging: asked, asks",
            _ => "hanging: denied, blocked",
        };
        let gone = match (fail, agent) {
            ("open", "claude") => "gone: missing, runs",
            ("open", "opencode") => "gone: missing, runs",
            ("open", _) => "gone: nothing, runs",
            (_, "claude" | "opencode") => "gone: missing, blocked",
            _ => "gone: denied, blocked",
        };
        let mut found = proven_in(&report, agent);
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
    says_version(&project, "claude", "2.1.197 (Claude Code)");
    // By hand, in the user's own file: versions before 2.1.295 silently ignore the switch.
    let hob = project.top().join("bin/hob");
    let entry = json!({"hooks": {"PreToolUse": [{"hooks": [{
        "type": "command", "command": hob, "args": ["hook", "PreToolUse", "--agent", "claude", "--fail", "closed"],
        "timeout": 10, "onFailure": "block",
    }]}]}});
    fs::create_dir_all(project.home().join(".claude")).unwrap();
    fs::write(project.home().join(".claude/settings.json"), entry.to_string()).unwrap();
    assert_eq!(
        proven(&project, "claude"),
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
    assert_eq!(proven(&project, "claude")[3], "gone: denied, blocked");
    project.write(".claude/settings.json", r#"{"disableAllHooks": true}"#);
    let doctor = project.run(["doctor"]).stdout;
    assert!(doctor.contains("Claude Code has all hooks disabled"), "{doctor}");
}

#[test]
fn an_entry_that_came_with_a_checkout_is_not_run() {
    let project = fresh();
    let root = project.root().display().to_string();
    let evil = format!("#!/bin/sh\ntouch {root}/evil\n");
    let plant = |file: &str| {
        project.write(file, &evil);
        fs::set_permissions(project.root().join(file), fs::Permissions::from_mode(0o755)).unwrap();
    };
    // The word that looks like hob's program is an assignment, and the shell runs `hook` instead.
    let assignment = format!("PATH={root}/bin/hob");
    plant("bin/hob/hook");
    let link = project.root().join(&assignment);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hob"), link).unwrap();
    plant("hob");
    for command in [
        "touch evil; hob hook PreToolUse --agent claude --fail open",
        "./hob hook PreToolUse --agent claude --fail open || exit 0",
        "hob hook PreToolUse --agent claude --fail open --project /",
        &format!("{assignment} hook PreToolUse --agent claude --fail open || exit 0"),
    ] {
        let entry = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}});
        project.write(".claude/settings.json", &entry.to_string());
        let doctor = project.run(["doctor"]);
        assert!(doctor.stdout.contains("PreToolUse was not run: it "), "{}", doctor.stdout);
        assert_eq!(doctor.code, Some(5));
        assert!(!project.root().join("evil").exists());
    }
}

#[test]
fn a_linked_worktree_has_claudes_local_hooks_of_the_main_one() {
    if !testkit::has_program("git") {
        return;
    }
    let project = fresh();
    says_version(&project, "claude", "2.1.331 (Claude Code)");
    let git = |args: &[&str]| testkit::Ran::run(project.command("git").args(args)).ok();
    git(&["init", "-q"]);
    git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "one"]);
    let linked = project.top().join("linked");
    git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    project.write("hob-policy.toml", DENIES);
    project.run(["hooks", "install", "--agent", "claude", "--fail", "closed"]).ok();
    let doctor = || testkit::Ran::run(project.hob(["doctor"]).current_dir(&linked)).stdout;
    let listed = doctor();
    let file = project.root().join(LOCAL);
    assert!(listed.contains(&format!("hooks in {}, 2.1.331: PreToolUse (fail closed) ", file.display())), "{listed}");
    fs::create_dir(linked.join(".claude")).unwrap();
    fs::write(linked.join(LOCAL), r#"{"disableAllHooks": true}"#).unwrap();
    let off = doctor();
    assert!(off.contains("Claude Code has all hooks disabled"), "{off}");
    // A shared file is separate in each worktree.
    fs::remove_file(linked.join(LOCAL)).unwrap();
    project.run(["hooks", "uninstall"]).ok();
    project.run(["hooks", "install", "--agent", "claude", "--scope", "project"]).ok();
    assert!(!doctor().contains("Hooks of agents"));
}

#[test]
fn installing_keeps_how_it_fails_and_init_does_both() {
    let project = fresh();
    says_version(&project, "claude", "2.1.331 (Claude Code)");
    project.write("hob-policy.toml", DENIES);
    let said = project.run(["init", "--agent", "claude", "--hooks"]).ok();
    assert!(said.contains("Claude Code: registered in .mcp.json."), "{said}");
    assert!(
        said.contains("Claude Code: hooks stand in .claude/settings.local.json (fail open): SessionStart, "),
        "{said}"
    );
    assert!(said.contains("`hob hooks install --fail closed` enforces it"), "{said}");
    // A rule about tools also covers permission requests.
    assert!(said.contains("PermissionRequest"), "{said}");
    project.run(["hooks", "install", "--agent", "claude", "--fail", "closed"]).ok();
    let again = project.run(["hooks", "install", "--agent", "claude"]).ok();
    assert!(again.contains("hooks are already in .claude/settings.local.json (fail closed)"), "{again}");
    let undone = project.run(["init", "--undo"]).ok();
    assert!(undone.contains(".claude/settings.local.json: removed"), "{undone}");
    assert!(!project.root().join(".claude").exists() && !project.root().join(".mcp.json").exists());
    // The user's own files apply to all projects.
    let codex = project.run(["init", "--agent", "codex", "--hooks"]).ok();
    assert!(codex.contains("Codex runs only hooks that you have reviewed"), "{codex}");
    assert!(project.home().join(".codex/hooks.json").exists());
    assert!(project.run(["init", "--undo"]).ok().contains("`hob hooks uninstall` removes them"));
    assert!(project.home().join(".codex/hooks.json").exists());
    assert!(project.run(["hooks", "uninstall"]).ok().contains("Codex: ~/.codex/hooks.json: removed"));
    assert!(!project.home().join(".codex").exists());
    assert_eq!(project.run(["hooks", "uninstall"]).ok(), "No agent's file here contains hob's hooks.\n");
}

#[test]
fn a_file_that_is_no_configuration_is_left_alone() {
    let project = fresh();
    let broken = [(LOCAL, "{\"hooks\": ["), (LOCAL, "{\"hooks\": {\"PreToolUse\": {}}}"), (".cursor/hooks.json", "[]")];
    for (file, text) in broken {
        project.write(file, text);
        let agent = if file == LOCAL { "claude" } else { "cursor" };
        let scope = if file == LOCAL { "local" } else { "project" };
        let ran = project.run(["hooks", "install", "--agent", agent, "--scope", scope]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("was not changed: "), "{ran:?}");
        assert_eq!(project.read(file), text);
    }
    let ran = project.run(["hooks", "install", "--agent", "vscode"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

//! A repository inside a project: the policies of both decide, and the inner one cannot loosen the outer one.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use testkit::{Ran, TestProject, until};

use super::{DENIES, shell};
use crate::fresh;

const ASKS: &str = "[[rule]]\nid = \"tag\"\ncommand = [\"git tag\", \"git push -f\"]\ndecide = \"ask\"\n";
const ASKS_AND_DENIES: &str = "[[rule]]\nid = \"status\"\ncommand = \"git status\"\ndecide = \"ask\"\n[[rule]]\nid = \"tag\"\n\
                               command = \"git tag\"\ndecide = \"deny\"\n";

/// Creates a project that is a repository, with a subdirectory.
fn repository(directory: &str) -> TestProject {
    let project = fresh();
    let directory = project.root().join(directory);
    std::fs::create_dir_all(&directory).unwrap();
    init(&project, &project.root());
    project
}

fn init(project: &TestProject, directory: &Path) {
    Ran::run(project.command("git").args(["init", "-q"]).current_dir(directory)).ok();
}

/// Returns the decision of a hook that runs in a directory; with `is_told`, the agent reports that directory in the event.
fn decision(project: &TestProject, directory: &Path, is_told: bool, command: &str) -> String {
    let mut hook = project.hob(["hook", "PreToolUse", "--agent", "claude", "--fail", "closed", "--deadline", "60"]);
    hook.current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if is_told {
        hook.env("CLAUDE_PROJECT_DIR", directory).current_dir(project.top());
    }
    let mut child = hook.spawn().unwrap();
    // A hook that decides nothing may exit before reading.
    let _ = child.stdin.take().unwrap().write_all(&shell(command));
    let output = child.wait_with_output().unwrap();
    match (output.status.code(), output.stdout.is_empty()) {
        (Some(0), true) => "pass".to_owned(),
        (Some(0), false) => {
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned()
        }
        _ => "failed".to_owned(),
    }
}

#[test]
fn a_repository_that_begins_inside_of_a_project_keeps_its_policy() {
    let project = repository("s3/deep");
    let inner = project.root().join("s3");
    project.write("hob-policy.toml", DENIES);
    // On a slow machine the first calls may time out before the daemon is ready.
    until("a daemon to decide", || (decision(&project, &inner, true, "git push -f") == "deny").then_some(()));
    init(&project, &inner);
    for is_told in [true, false] {
        for directory in [&inner, &inner.join("deep")] {
            assert_eq!(decision(&project, directory, is_told, "git push -f"), "deny", "{directory:?}, {is_told}");
            assert_eq!(decision(&project, directory, is_told, "git push"), "pass");
        }
    }
    // The stored record of its rules suffices. The inner project's policy removes no rule.
    std::fs::remove_file(project.root().join("hob-policy.toml")).unwrap();
    assert_eq!(decision(&project, &inner, true, "git push -f"), "deny");
    project.write("s3/hob-policy.toml", "");
    until("its daemon to decide", || (decision(&project, &inner, true, "git push") == "pass").then_some(()));
    assert_eq!(decision(&project, &inner, true, "git push -f"), "deny");
    stop(&project, &inner);
}

#[test]
fn of_the_policies_around_an_event_the_strictest_decides() {
    let project = repository("sub");
    let inner = project.root().join("sub");
    init(&project, &inner);
    project.write("hob-policy.toml", ASKS_AND_DENIES);
    project.write("sub/hob-policy.toml", &format!("{ASKS}{DENIES}"));
    until("both to decide", || (decision(&project, &inner, false, "git push") == "pass").then_some(()));
    for (command, expected) in [("git tag v1", "deny"), ("git push -f", "deny"), ("git status", "ask"), ("ls", "pass")]
    {
        assert_eq!(decision(&project, &inner, false, command), expected, "{command}");
    }
    // Outside the inner project, its policy does not apply.
    assert_eq!(decision(&project, &project.root(), false, "git push -f"), "pass");
    stop(&project, &inner);
}

#[test]
fn a_linked_worktree_elsewhere_has_the_policy_of_its_project_alone() {
    let project = repository("src");
    project.write("hob-policy.toml", DENIES);
    let git = |args: &[&str]| Ran::run(project.command("git").args(args)).ok();
    git(&["add", "."]);
    git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "policy"]);
    let around = project.top().join("around");
    std::fs::create_dir(&around).unwrap();
    let linked = around.join("linked");
    git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    until("a daemon to decide", || (decision(&project, &linked, true, "git push -f") == "deny").then_some(()));
    // A copy of the policy does not turn the directory into another project.
    assert_eq!(std::fs::read_dir(project.state_dir().parent().unwrap()).unwrap().count(), 1);
    std::fs::create_dir(linked.join("inner")).unwrap();
    init(&project, &linked.join("inner"));
    assert_eq!(decision(&project, &linked.join("inner"), true, "git push -f"), "deny");
    // An event outside the project passes without starting a daemon.
    assert_eq!(decision(&project, &around, true, "git push -f"), "pass");
    assert_eq!(std::fs::read_dir(project.state_dir().parent().unwrap()).unwrap().count(), 1);
}

/// Stops the daemon of the inner project; the outer one ends with the test.
fn stop(project: &TestProject, inner: &Path) {
    Ran::run(project.hob(["stop"]).current_dir(inner)).ok();
}

//! A repository inside a project: the policies of both decide, and the inner one cannot loosen the outer one.

use std::path::Path;

use testkit::{Ran, TestProject, until};

use super::{DENIES, shell, verdict, with_input};
use crate::fresh;
use crate::init::git;

const ASKS: &str = "[[rule]]\nid = \"tag\"\ncommand = [\"git tag\", \"git push -f\"]\ndecide = \"ask\"\n";
const ASKS_AND_DENIES: &str = "[[rule]]\nid = \"status\"\ncommand = \"git status\"\ndecide = \"ask\"\n[[rule]]\nid = \"tag\"\n\
                               command = \"git tag\"\ndecide = \"deny\"\n";

/// Creates a project that is a repository, with a subdirectory.
fn repository(directory: &str) -> TestProject {
    let project = fresh();
    std::fs::create_dir_all(project.root().join(directory)).unwrap();
    git(&project, &["init", "-q"]);
    project
}

/// Returns the decision of a hook that runs in a directory; with `is_told`, the agent reports that directory in the event.
fn decision(project: &TestProject, directory: &Path, is_told: bool, command: &str) -> String {
    let mut hook = project.hob(["hook", "PreToolUse", "--agent", "claude", "--fail", "closed", "--deadline", "60"]);
    hook.current_dir(directory);
    if is_told {
        hook.env("CLAUDE_PROJECT_DIR", directory).current_dir(project.top());
    }
    let ran = with_input(hook, &shell(command));
    if ran.code == Some(0) { verdict(&ran) } else { "failed".to_owned() }
}

#[test]
fn a_repository_that_begins_inside_of_a_project_keeps_its_policy() {
    let project = repository("s3/deep");
    let inner = project.root().join("s3");
    project.write("hob-policy.toml", DENIES);
    // On a slow machine the first calls may time out before the daemon is ready.
    until("a daemon to decide", || (decision(&project, &inner, true, "git push -f") == "deny").then_some(()));
    git(&project, &["init", "-q", "s3"]);
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
    git(&project, &["init", "-q", "sub"]);
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
    let around = project.top().join("around");
    std::fs::create_dir(&around).unwrap();
    let linked = around.join("linked");
    for args in [&["add", "."][..], &["commit", "-qm", "policy"], &["worktree", "add", "-q", "../around/linked"]] {
        git(&project, args);
    }
    until("a daemon to decide", || (decision(&project, &linked, true, "git push -f") == "deny").then_some(()));
    // A copy of the policy does not turn the directory into another project.
    assert_eq!(std::fs::read_dir(project.state_dir().parent().unwrap()).unwrap().count(), 1);
    git(&project, &["init", "-q", "../around/linked/inner"]);
    assert_eq!(decision(&project, &linked.join("inner"), true, "git push -f"), "deny");
    // An event outside the project passes without starting a daemon.
    assert_eq!(decision(&project, &around, true, "git push -f"), "pass");
    assert_eq!(std::fs::read_dir(project.state_dir().parent().unwrap()).unwrap().count(), 1);
}

/// Stops the daemon of the inner project; the outer one ends with the test.
fn stop(project: &TestProject, inner: &Path) {
    Ran::run(project.hob(["stop"]).current_dir(inner)).ok();
}

//! The state of the work through the real daemon: `hob work`, the environment of a fetch, and facts for rules.

use serde_json::{Value, json};
use testkit::github::{GitHub, TOKEN, commits};
use testkit::{McpPeer, TestProject, has_program};

use crate::fresh;
use crate::hooks::decision;
use crate::init::git;

/// Creates a repository on `main` with a commit.
fn repository() -> Option<TestProject> {
    has_program("git").then(|| {
        let project = fresh();
        git(&project, &["init", "-q", "-b", "main"]);
        git(&project, &["commit", "-q", "--allow-empty", "-m", "First"]);
        project
    })
}

#[test]
fn the_command_line_shows_a_pull_request_and_every_worktree() {
    let Some(project) = repository().filter(|_| has_program("gh")) else { return };
    let directory = project.home().join(".config");
    std::fs::create_dir_all(&directory).unwrap();
    let github = GitHub::start(&directory);
    github.log_in("github.com", TOKEN);
    github.repository("up/web", None);
    git(&project, &["remote", "add", "origin", "https://github.com/up/web"]);
    git(&project, &["switch", "-qc", "topic"]);
    let checks = commits(Some(&[("build", "FAILURE"), ("test", "SUCCESS")]));
    github.pull("up/web", 7, "up/web:topic", json!({"title": "Parse lists", "commits": checks}));
    let said = project.run(["work"]).ok();
    let lines = "pull request #7 open, into main: \"Parse lists\"; checks: 1 failed (build), 1 passed\n  https://github.com/up/web/pull/7\n";
    assert!(said.starts_with("branch topic, at ") && said.ends_with(lines), "{said}");
    let mut agent = project.mcp(&["work", "--as", "ann"]);
    agent.initialize();
    git(&project, &["worktree", "add", "-q", "--detach", "../other"]);
    project.write("new", "");
    let all = project.run(["work", "--all"]).ok();
    let own = all.lines().next().unwrap();
    for said in [": branch topic at ", " s ago, 1 changed", ", pull request #7 open, with ann"] {
        assert!(own.contains(said), "{said}: {own}");
    }
    assert_eq!(all.lines().count(), 2, "{all}");
    let value: Value = serde_json::from_str(&project.run(["work", "--json"]).ok()).unwrap();
    assert_eq!((&value["pull"]["checks"]["failing"], &value["git"]["untracked"]), (&json!(["build"]), &json!(1)));
}

#[test]
fn keys_and_the_issue_reach_a_fetch_and_no_session() {
    let Some(project) = repository() else { return };
    git(&project, &["remote", "add", "origin", "git@example.org:up/web.git"]);
    project.write(".beads/issues.jsonl", "{\"id\":\"web-a1\",\"title\":\"Parse lists\"}\n");
    let ssh = project.top().join("bin/ssh-of-the-test");
    let said = project.top().join("said");
    std::fs::write(&ssh, format!("#!/bin/sh\necho \"$SSH_AUTH_SOCK\" > {}\nexit 255\n", said.display())).unwrap();
    std::fs::set_permissions(&ssh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut hob = project.hob(["mcp", "all"]);
    hob.env("SSH_AUTH_SOCK", "/run/agent").env("GIT_SSH_COMMAND", &ssh).env("HOB_ISSUE", "web-a1");
    let mut peer = McpPeer::spawn(hob);
    peer.initialize();
    let synced = peer.call("work_sync", json!({}));
    assert!(synced.text.contains("\nissue web-a1 open, task: \"Parse lists\"\n"), "{}", synced.text);
    assert_eq!(std::fs::read_to_string(said).unwrap(), "/run/agent\n");
    let session = peer.call("repl_eval", json!({"profile": "bash", "code": "env | grep -c -E 'SSH|HOB_ISSUE'"}));
    assert!(session.text.starts_with("0\n"), "{}", session.text);
    peer.call("repl_stop", json!({}));
}

#[test]
fn rules_may_ask_for_facts_of_the_work() {
    // A denying rule stays in force when its file changes, so each case has a separate project.
    for (fact, value, expected) in [
        ("work.dirty", "true", true),
        ("work.detached", "false", true),
        ("work.branch", "main", true),
        ("work.dirty", "false", false),
        ("work.operation", "*", false),
        ("work.pull.checks", "*", false),
    ] {
        let Some(project) = repository() else { return };
        project.run(["call", "repl_list"]).ok();
        let rule = "[[rule]]\nid = \"r\"\ntool = \"shell\"\ncommand = [\"make\"]\ndecide = \"deny\"\n";
        project.write("hob-policy.toml", &format!("{rule}when = {{ \"{fact}\" = \"{value}\" }}\n"));
        // A new git query may take longer than a rule waits; the next event finds its result.
        let attempts = if expected { 50 } else { 3 };
        let is_denied = (0..attempts).any(|_| decision(&project, "make") == "deny");
        assert_eq!(is_denied, expected, "{fact} = {value}");
    }
}

//! The state of the work through the real daemon: `hob work`, the tools of another system, the environment of a fetch, and
//! facts for rules.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::github::{GitHub, TOKEN, commits};
use testkit::{McpPeer, TestProject, has_program};

use crate::fresh;

/// Creates a repository on `main` with a commit.
fn repository() -> Option<TestProject> {
    if !has_program("git") {
        return None;
    }
    let project = fresh();
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["config", "user.name", "T"]);
    git(&project, &["config", "user.email", "t@example.org"]);
    git(&project, &["commit", "-q", "--allow-empty", "-m", "First"]);
    Some(project)
}

fn git(project: &TestProject, args: &[&str]) {
    let status = project.command("git").args(args).status();
    assert!(status.is_ok_and(|status| status.success()), "git {args:?}");
}

/// Creates a GitHub fixture at which the user's `gh` is logged in.
fn github(project: &TestProject) -> GitHub {
    let directory = project.home().join(".config");
    std::fs::create_dir_all(&directory).unwrap();
    let github = GitHub::start(&directory);
    github.log_in("github.com", TOKEN);
    github.repository("up/web", None);
    git(project, &["remote", "add", "origin", "https://github.com/up/web"]);
    github
}

#[test]
fn the_command_line_shows_a_pull_request_and_every_worktree() {
    let Some(project) = repository().filter(|_| has_program("gh")) else { return };
    let github = github(&project);
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
    assert_eq!(github.requests().len(), 1, "what is kept is not asked for again");
    // Changes since the agent's own last call.
    agent.call("work_status", json!({}));
    github.pull("up/web", 7, "up/web:topic", json!({"state": "MERGED"}));
    let said = agent.call("work_status", json!({"refresh": true})).text;
    assert!(said.starts_with("changed, pull: #7 is merged\n"), "{said}");
}

#[test]
fn the_tools_of_tidepool_have_every_documented_field() {
    let Some(project) = repository().filter(|_| has_program("gh")) else { return };
    let mut peer = project.mcp(&["--profile", "tidepool"]);
    peer.initialize();
    let names: Vec<String> = peer.result("tools/list", json!({}))["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    for name in ["exo_reconstitute", "exo_status", "confirm_action", "find_callers"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    let ask = |peer: &mut McpPeer, tool: &str, arguments: Value| -> Value {
        serde_json::from_str(&peer.call(tool, arguments).text).unwrap()
    };
    // An empty repository.
    let said = ask(&mut peer, "exo_status", json!({}));
    assert_eq!((&said["bead"], &said["pr"], &said["dirty_files"]), (&Value::Null, &Value::Null, &json!([])));
    assert_eq!(said["sources"]["pull"]["state"], "absent");
    let worktree = json!({
        "name": "project", "path": project.root(), "branch": "main", "repo_root": project.root(), "is_worktree": false,
    });
    assert_eq!(said["worktree"], worktree);
    // The branch of a GitHub issue.
    let github = github(&project);
    github.issue("up/web", 12, json!({"title": "Lists"}));
    github.pull("up/web", 7, "up/web:gh-12/lists", json!({"isDraft": true}));
    git(&project, &["switch", "-qc", "gh-12/lists"]);
    project.write("src/new", "");
    let said = ask(&mut peer, "exo_reconstitute", json!({}));
    assert_eq!((&said["bead"]["id"], &said["bead"]["tracker"]), (&json!("#12"), &json!("github")));
    assert_eq!((&said["pr"]["number"], &said["pr"]["draft"]), (&json!(7), &json!(true)));
    assert_eq!(said["dirty_files"], json!(["src/"]));
    assert!(said["sources"]["fetch"]["state"].is_string(), "{said}");
    // An issue of Beads whose tracker has its own prefix, in another worktree.
    git(&project, &["worktree", "add", "-q", "-b", "bd-a1/lists", "../other"]);
    let issue = json!({
        "id": "web-a1", "title": "Parse lists", "status": "hooked", "priority": 0, "assignee": "ann", "created_by": "carl",
        "dependencies": [{"depends_on_id": "web-e1", "type": "parent-child"}],
    });
    project.write(".beads/issues.jsonl", &format!("{issue}\n"));
    let mut hob = project.hob(["mcp", "--profile", "tidepool"]);
    hob.current_dir(project.top().join("other"));
    let mut other = McpPeer::spawn(hob);
    other.initialize();
    let said = ask(&mut other, "exo_status", json!({}));
    let bead = said["bead"].as_object().unwrap();
    for field in [
        "id",
        "title",
        "description",
        "status",
        "priority",
        "issue_type",
        "assignee",
        "created_at",
        "created_by",
        "updated_at",
        "parent",
        "dependencies",
        "dependents",
    ] {
        assert!(bead.contains_key(field), "{field}: {bead:?}");
    }
    assert_eq!((&bead["id"], &bead["status"], &bead["parent"]), (&json!("web-a1"), &json!("hooked"), &json!("web-e1")));
    assert_eq!((&said["worktree"]["is_worktree"], &said["worktree"]["name"]), (&json!(true), &json!("other")));
    assert_eq!(said["worktree"]["repo_root"], json!(project.root()));
    // A fault of the previous system: an error that looks like success.
    let said = ask(&mut other, "exo_status", json!({"bead_id": "web-a9"}));
    assert_eq!((&said["bead"], &said["sources"]["issue"]["state"]), (&Value::Null, &json!("absent")));
    assert_eq!(said["sources"]["issue"]["detail"], "unknown issue web-a9");
    assert!(other.call("exo_status", json!({"bead": "x"})).is_error);
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
    let is_denied = |fact: &str, value: &str, attempts: usize| -> Option<bool> {
        let project = repository()?;
        project.run(["call", "repl_list"]).ok();
        let when = format!("when = {{ \"{fact}\" = \"{value}\" }}");
        let rule = "[[rule]]\nid = \"r\"\ntool = \"shell\"\ncommand = [\"make\"]\ndecide = \"deny\"\n";
        project.write("hob-policy.toml", &format!("{rule}{when}\n"));
        let event = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "make"}});
        // A new git query may take longer than a rule waits; the next event finds its result.
        Some((0..attempts).any(|_| {
            let mut command = project.hob(["hook", "PreToolUse", "--agent", "claude", "--deadline", "60"]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            String::from_utf8_lossy(&output.stdout).contains("\"deny\"")
        }))
    };
    for (fact, value) in [("work.dirty", "true"), ("work.detached", "false"), ("work.branch", "main")] {
        assert_ne!(is_denied(fact, value, 50), Some(false), "{fact}");
    }
    for (fact, value) in [("work.dirty", "false"), ("work.operation", "*"), ("work.pull.checks", "*")] {
        assert_ne!(is_denied(fact, value, 3), Some(true), "{fact}");
    }
}

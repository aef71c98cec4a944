//! Two worktrees of one repository share a daemon, and neither sees the other's code.

use serde_json::json;
use testkit::{McpPeer, TestProject, has_program};

use crate::fresh;

#[test]
fn one_daemon_two_repls() {
    if !has_program("git") || !has_program("ghci") {
        return;
    }
    let project = fresh();
    let other = project.top().join("other");
    project.write("Here.hs", "module Here where\nhere :: String\nhere = \"the main worktree\"\n");
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["add", "."]);
    git(&project, &["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "one"]);
    git(&project, &["worktree", "add", "-q", other.to_str().unwrap()]);
    std::fs::write(other.join("Here.hs"), "module Here where\nhere :: String\nhere = \"the other worktree\"\n")
        .unwrap();

    let mut first = project.mcp(&[]);
    let mut command = project.hob(["mcp"]);
    command.current_dir(&other);
    let mut second = McpPeer::spawn(command);
    for (peer, own) in [(&mut first, "the main worktree"), (&mut second, "the other worktree")] {
        peer.initialize();
        let loaded = peer.call("repl_eval", json!({"code": ":load Here", "wait_ms": 50_000}));
        assert!(!loaded.is_error, "{}", loaded.text);
        let here = peer.call("repl_eval", json!({"code": "here"}));
        assert!(here.text.contains(own), "{}", here.text);
    }
    // The same calls again, now that both sessions are running.
    assert!(first.call("repl_eval", json!({"code": "here"})).text.contains("the main worktree"));
    first.call("repl_eval", json!({"code": "onlyHere = 1"}));
    let unseen = second.call("repl_eval", json!({"code": "onlyHere"}));
    assert!(unseen.text.contains("not in scope"), "{}", unseen.text);

    let daemons = project.processes().into_iter().filter(|process| process.command.contains(" serve ")).count();
    assert_eq!(daemons, 1);

    first.call("repl_start", json!({"session": "named", "profile": "bash"}));
    let refused = second.call("repl_eval", json!({"session": "named", "code": "pwd"}));
    assert!(refused.is_error && refused.text.contains("worktree"), "{}", refused.text);
}

fn git(project: &TestProject, args: &[&str]) {
    let status = project.command("git").args(args).status();
    assert!(status.is_ok_and(|status| status.success()), "git {args:?}");
}

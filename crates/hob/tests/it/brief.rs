//! The brief shows an agent the previous one's note, with information from other parts of the daemon.

use serde_json::json;
use testkit::{TestProject, has_program};

use crate::fresh;

#[test]
fn the_next_agent_is_told_what_the_last_one_left_and_what_waits() {
    if !has_program("git") {
        return;
    }
    let project = fresh();
    git(&project, &["init", "-q", "-b", "main"]);
    commit(&project, "First");
    git(&project, &["switch", "-qc", "topic"]);
    project.run(["quickstart", "--name", "bob", "--role", "dev"]).ok();

    let mut first = project.mcp(&["work"]);
    first.initialize();
    let left = first.call("work_brief", json!({"at": "end", "note": "The parser is done; its tests are next."}));
    assert_eq!(left.text, "The note is kept for branch topic.\nNothing is unfinished, and nothing is pending.");
    let refused = first.call("work_brief", json!({"at": "end", "note": "x".repeat(9000)}));
    assert!(refused.is_error && refused.text.contains("8192"), "{}", refused.text);
    first.close();

    git(&project, &["switch", "-q", "main"]);
    commit(&project, "New on main");
    git(&project, &["switch", "-q", "topic"]);
    project.write("src/lex.rs", "");
    project.run(["send", "look at the parser", "--to", "bob", "--priority", "high"]).ok();
    project.run(["ask", "guide", "Which way?", "--wait", "0"]);

    let mut third = project.mcp(&["work"]);
    third.initialize();
    let mut second = project.mcp(&["all", "--as", "bob"]);
    second.initialize();
    second.call("repl_eval", json!({"profile": "bash", "code": "true"}));
    let running = second.call("repl_eval", json!({"profile": "bash", "code": "read line", "wait_ms": 0}));
    assert!(!running.is_error, "{}", running.text);
    let brief = second.call("work_brief", json!({})).text;
    for said in [
        "hand-over note by an agent without a name, ",
        "\n| The parser is done; its tests are next.\nnew on main since the note: \"New on main\"\nbranch topic, at ",
        "0 ahead of main, 1 behind\n1 untracked\nchanged: src/",
        "\nalso in this worktree: 1 agent without a name",
        "1 message waits for bob, 1 high",
        "(`read line`); repl_wait waits for it",
        "no answer from your user yet: q_",
        "\"Which way?\"",
    ] {
        assert!(brief.contains(said), "{said}: {brief}");
    }
    assert!(brief.chars().count() <= 1500, "{brief}");
    assert_eq!(brief.matches("waits for bob").count(), 1, "{brief}");
    // The next call confirms that the brief arrived.
    second.call("work_status", json!({}));
    let notes = project.run(["note"]).ok();
    assert!(notes.starts_with("1 note for branch topic, the latest first:\nread by 1 agent:\n"), "{notes}");
    second.call("repl_interrupt", json!({}));
    second.call("repl_stop", json!({}));
}

fn commit(project: &TestProject, message: &str) {
    let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    git(project, &[&who[..], &["commit", "-q", "--allow-empty", "-m", message]].concat());
}

fn git(project: &TestProject, args: &[&str]) {
    let status = project.command("git").args(args).status();
    assert!(status.is_ok_and(|status| status.success()), "git {args:?}");
}

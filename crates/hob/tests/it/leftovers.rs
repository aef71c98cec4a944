//! What a session leaves when it ends: nothing, however far its programs went; but what was started for others stays.

use serde_json::json;
use testkit::{TestProject, has_program, until};

use crate::fresh;

/// A program that starts itself again every moment, in a session of its own and without any environment.
const AGAIN: &str = "echo >>\"$0.lives\"\nsleep 0.05\nsetsid env -i sh \"$0\" &\n";

/// How often it has lived.
fn lives(project: &TestProject) -> u64 {
    std::fs::metadata(project.root().join("again.lives")).map_or(0, |data| data.len())
}

/// Whether one of it lives now.
fn runs(project: &TestProject) -> bool {
    let file = project.root().join("again");
    let line = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
    let mut all = std::fs::read_dir("/proc").unwrap().flatten().map(line);
    all.any(|line| line.split('\0').any(|word| word == file.to_str().unwrap()))
}

#[test]
fn what_starts_itself_again_ends_with_its_session_or_with_the_daemon() {
    if !has_program("setsid") {
        return;
    }
    let project = fresh();
    project.write("again", AGAIN);
    let mut peer = project.mcp(&[]);
    peer.initialize();
    for end in ["repl_stop", "stop"] {
        peer.call("repl_start", json!({"profile": "bash"}));
        let before = lives(&project);
        let code = format!("setsid env -i sh {} &", project.root().join("again").display());
        assert!(!peer.call("repl_eval", json!({"code": code})).is_error);
        until("it has come back a few times", || (lives(&project) > before + 5).then_some(()));
        match end {
            "stop" => drop(project.run(["stop"]).ok()),
            tool => assert!(!peer.call(tool, json!({})).is_error),
        }
        let after = lives(&project);
        // Longer than it takes to come back.
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(50)); // polls: the process table
            assert_eq!((lives(&project), runs(&project)), (after, false), "{end}");
        }
    }
}

#[test]
fn a_daemon_that_was_started_from_a_session_outlives_it() {
    let (project, other) = (fresh(), fresh());
    let mut peer = project.mcp(&[]);
    peer.initialize();
    peer.call("repl_start", json!({"profile": "bash"}));
    let code = format!(
        "env HOME={} XDG_RUNTIME_DIR={} hob --project {} call repl_start --profile bash",
        other.home().display(),
        other.runtime_dir().display(),
        other.root().display()
    );
    let started = peer.call("repl_eval", json!({"code": code, "wait_ms": 50_000}));
    assert!(started.text.contains("bash"), "{}", started.text);
    let daemon = other.daemon_pid().expect("it runs");
    assert!(!peer.call("repl_stop", json!({})).is_error);
    assert_eq!(other.daemon_pid(), Some(daemon));
    assert!(other.run(["call", "repl_list"]).ok().contains("main"));
}

//! A session ends with its programs, but not with those that were started for others. Also: files of removed projects.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::json;
use testkit::{TestProject, kill_hard, until};

use crate::fresh;

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

/// Returns hob's files outside of projects: sockets and directories of secrets.
fn kept_outside(user: &TestProject) -> BTreeSet<PathBuf> {
    let list = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    list(user.runtime_dir().join("hob")).chain(list(user.home().join(".local/state/hob"))).collect()
}

#[test]
fn what_a_project_that_is_gone_left_outside_goes_when_any_daemon_starts() {
    let user = fresh();
    let gone = user.top().join("gone");
    fs::create_dir(&gone).unwrap();
    user.run(["--project", gone.to_str().unwrap(), "call", "repl_list"]).ok();
    let left = kept_outside(&user);
    assert_eq!(left.len(), 2, "a socket and a directory: {left:?}");
    let daemon = user.daemon_pid().unwrap();
    kill_hard(daemon);
    until("it to end", || user.daemon_pid().is_none().then_some(()));
    fs::remove_dir_all(&gone).unwrap();
    // Old enough that its disk counts as permanently removed.
    let note = left.iter().map(|path| path.join("root")).find(|path| path.exists()).unwrap();
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(20 * 24 * 60 * 60);
    fs::File::options().write(true).open(note).unwrap().set_modified(ago).unwrap();
    user.run(["call", "repl_list"]).ok();
    until("what is gone to go", || left.iter().all(|path| !path.exists()).then_some(()));
    assert_eq!(kept_outside(&user).len(), 2, "of the daemon that lives");
}

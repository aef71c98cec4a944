//! A session leaves nothing behind when it ends, whatever its programs did, except programs started for others. Also: files
//! of removed projects.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::{TestProject, has_program, kill_hard, until};

use crate::fresh;

/// A program that keeps restarting itself, in a new session with an empty environment.
const AGAIN: &str = "echo >>\"$0.lives\"\nsleep 0.05\nsetsid env -i sh \"$0\" &\n";

/// Returns how often it was started.
fn count_processes(project: &TestProject) -> u64 {
    std::fs::metadata(project.root().join("again.lives")).map_or(0, |data| data.len())
}

/// True if one of them is running.
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
        let before = count_processes(&project);
        let code = format!("setsid env -i sh {} &", project.root().join("again").display());
        assert!(!peer.call("repl_eval", json!({"code": code})).is_error);
        until("it has come back a few times", || (count_processes(&project) > before + 5).then_some(()));
        match end {
            "stop" => drop(project.run(["stop"]).ok()),
            tool => assert!(!peer.call(tool, json!({})).is_error),
        }
        let after = count_processes(&project);
        // Longer than one restart takes.
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(50)); // polls: the process table
            assert_eq!((count_processes(&project), runs(&project)), (after, false), "{end}");
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

/// Returns hob's files outside of projects: sockets and directories of secrets.
fn kept_outside(user: &TestProject) -> BTreeSet<PathBuf> {
    let list = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    list(user.runtime_dir().join("hob")).chain(list(user.home().join(".local/state/hob"))).collect()
}

/// Starts the daemon of another project of the same user; returns its process, and its files outside the project.
fn start_daemon(user: &TestProject, root: &Path) -> (i32, BTreeSet<PathBuf>) {
    fs::create_dir(root).unwrap();
    let daemons = || user.processes().into_iter().filter(|process| process.command.contains(" serve "));
    let (others, before) = (daemons().map(|process| process.pid).collect::<Vec<_>>(), kept_outside(user));
    user.run(["--project", root.to_str().unwrap(), "call", "repl_list"]).ok();
    let pid = daemons().map(|process| process.pid).find(|pid| !others.contains(pid)).unwrap();
    let kept: BTreeSet<_> = kept_outside(user).difference(&before).cloned().collect();
    assert_eq!(kept.len(), 2, "a socket and a directory: {kept:?}");
    (pid, kept)
}

#[test]
fn what_projects_that_are_gone_left_outside_goes_when_any_daemon_starts() {
    let user = fresh();
    let [gone, killed, moved, tokens] = ["gone", "killed", "moved", "tokens"].map(|name| user.top().join(name));
    // It keeps serving although its root no longer exists.
    let (_, of_moved) = start_daemon(&user, &moved);
    let (first, of_gone) = start_daemon(&user, &gone);
    let (second, of_killed) = start_daemon(&user, &killed);
    let (third, of_tokens) = start_daemon(&user, &tokens);
    let kept = |name: &str, all: &BTreeSet<PathBuf>| all.iter().find(|path| path.join(name).exists()).cloned();
    let tokens_dir = kept("seal-key", &of_tokens).unwrap();
    fs::write(tokens_dir.join("http-token"), "in the configuration of a client").unwrap();
    for pid in [first, second, third] {
        kill_hard(pid);
        until("it to end", || user.processes().iter().all(|process| process.pid != pid).then_some(()));
    }
    fs::rename(&moved, user.top().join("elsewhere")).unwrap();
    fs::remove_dir_all(&gone).unwrap();
    fs::remove_dir_all(&tokens).unwrap();
    // Old enough that its disk counts as permanently removed.
    for kept in [&of_gone, &of_tokens] {
        let notes = kept.iter().map(|path| path.join("root")).filter(|path| path.exists());
        notes.for_each(|note| {
            let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(20 * 24 * 60 * 60);
            fs::File::options().write(true).open(note).unwrap().set_modified(ago).unwrap();
        });
    }

    user.run(["call", "repl_list"]).ok();
    until("what is gone to go", || of_gone.iter().all(|path| !path.exists()).then_some(()));
    assert!(of_moved.iter().all(|path| path.exists()), "it lives");
    assert!(kept("seal-key", &of_killed).is_some(), "its project is there: open questions outlive a killed daemon");
    assert!(tokens_dir.join("http-token").exists(), "a client may still have it");
    let sockets = kept_outside(&user).into_iter().filter(|path| path.extension().is_some_and(|end| end == "sock"));
    assert_eq!(sockets.count(), 2, "of the two daemons that live");
    fs::rename(user.top().join("elsewhere"), &moved).unwrap();
    user.run(["--project", moved.to_str().unwrap(), "stop"]).ok();
}

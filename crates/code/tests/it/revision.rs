//! The revision in an answer: the commit, the number of files that differ from it, and a counter of change batches.

use std::process::Command;

use serde_json::{Value, json};

use crate::judged::JudgedProject;

fn git(judged: &JudgedProject, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=n@example.org"]).args(args).current_dir(judged.path());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(git.output().unwrap().status.success(), "{args:?}");
}

/// Asks until the revision is as expected, because an answer does not wait for the watcher or git.
fn until(judged: &JudgedProject, wanted: impl Fn(&Value) -> bool) -> Value {
    testkit::until("the revision is known", || {
        let (answer, _) = judged.ask("find_uses", json!({"name": "area", "wait_ms": 0})).unwrap();
        Some(answer["head"]["revision"].clone()).filter(&wanted)
    })
}

#[test]
fn the_commit_the_changes_and_the_batches() {
    let judged = JudgedProject::new();
    judged.write("geo.hs", "module Geo where\narea = 1\nuse = area\n").write("old.hs", "module Old where\n");
    let first = until(&judged, |revision| revision["stamp"].is_u64());
    assert_eq!((&first["commit"], &first["changed"]), (&json!(null), &json!(null)));
    // Repository filters do not run while its files are counted.
    judged.write(".gitattributes", "*.hs filter=mine\n");
    git(&judged, &["init", "-q"]);
    git(&judged, &["add", "."]);
    git(&judged, &["commit", "-qm", "one"]);
    git(&judged, &["config", "filter.mine.clean", "touch ran; cat"]);
    let clean = until(&judged, |revision| revision["changed"].is_u64());
    assert_eq!(clean["changed"], 0, "{clean}");
    assert_eq!(clean["commit"].as_str().unwrap().len(), 40);
    // Changed, removed, added.
    judged.write("geo.hs", "module Geo where\narea = 2\nuse = area\n").write("new/more.hs", "module More where\n");
    std::fs::remove_file(judged.path().join("old.hs")).unwrap();
    let dirty = until(&judged, |revision| revision["changed"].as_u64() > Some(0));
    assert_eq!(dirty["changed"], 3, "{dirty}");
    assert!(dirty["stamp"].as_u64() > clean["stamp"].as_u64(), "{clean} {dirty}");
    let (_, text) = judged.ask("find_uses", json!({"name": "area", "wait_ms": 0})).unwrap();
    let commit = &dirty["commit"].as_str().unwrap()[..7];
    assert!(text.lines().next().unwrap().ends_with(&format!(" · {commit} + 3 changed")), "{text}");
    assert!(!judged.path().join("ran").exists());
    // A commit alone changes no file, but is another revision.
    git(&judged, &["-c", "filter.mine.clean=", "add", "-A"]);
    git(&judged, &["-c", "filter.mine.clean=", "commit", "-qm", "two"]);
    let committed = until(&judged, |revision| revision["changed"] == 0);
    assert_ne!(committed["commit"], dirty["commit"]);
}

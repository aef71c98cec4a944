//! The revision in an answer: the commit, and a counter of change batches.

use std::process::Command;

use serde_json::{Value, json};

use crate::judged_project::JudgedProject;

fn git(judged: &JudgedProject, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=n@example.org"]).args(args).current_dir(judged.path());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(git.output().unwrap().status.success(), "{args:?}");
}

/// Asks until the revision is as expected, because an answer does not wait for the watcher.
fn until(judged: &JudgedProject, wanted: impl Fn(&Value) -> bool) -> Value {
    testkit::until("the revision is known", || {
        let (answer, _) = judged.ask("find_uses", json!({"name": "area", "wait_ms": 0})).unwrap();
        Some(answer["head"]["revision"].clone()).filter(&wanted)
    })
}

#[test]
fn the_commit_and_the_batches() {
    let judged = JudgedProject::new();
    judged.write("geo.hs", "module Geo where\narea = 1\nuse = area\n");
    let first = until(&judged, |revision| revision["stamp"].is_u64());
    assert_eq!(first["commit"], json!(null));
    git(&judged, &["init", "-q"]);
    git(&judged, &["add", "."]);
    git(&judged, &["commit", "-qm", "one"]);
    let clean = until(&judged, |revision| revision["commit"].is_string());
    assert_eq!(clean["commit"].as_str().unwrap().len(), 40);
    judged.write("geo.hs", "module Geo where\narea = 2\nuse = area\n");
    let dirty = until(&judged, |revision| revision["stamp"].as_u64() > clean["stamp"].as_u64());
    assert_eq!(dirty["commit"], clean["commit"]);
    let (_, text) = judged.ask("find_uses", json!({"name": "area", "wait_ms": 0})).unwrap();
    let commit = &dirty["commit"].as_str().unwrap()[..7];
    assert!(text.lines().next().unwrap().ends_with(&format!(" · {commit}")), "{text}");
    // A commit alone changes no file, but is another revision.
    git(&judged, &["add", "-A"]);
    git(&judged, &["commit", "-qm", "two"]);
    until(&judged, |revision| revision["commit"].is_string() && revision["commit"] != dirty["commit"]);
}

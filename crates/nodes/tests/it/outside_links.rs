//! Links that point out of a checkout: their targets are not read, written, removed or quoted in errors.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nodes::cassette::{Cassettes, Mode};
use nodes::folder::Folder;
use nodes::suite::Answering;
use nodes::suite::baseline::Baseline;
use nodes::{Models, Node, RunContext};
use serde_json::{Map, json};

use crate::endpoint::{Endpoint, text_reply};

const SECRET: &str = "planted-9f3";
const NODE: &str = "---\ndescription: A.\noutput: { schema: { a: string } }\n---\nSay it.\n";

/// The linked path; everything else is real.
const LINKED: [&str; 3] = ["nodes", "nodes/cassettes", "nodes/cassettes/n.jsonl"];

/// Creates a worktree in which this path links to another project.
fn linked(at: &Path, path: &str) -> (Folder, PathBuf) {
    let (worktree, other) = (at.join("worktree"), at.join("other"));
    fs::create_dir_all(other.join("nodes/cassettes")).unwrap();
    fs::write(other.join("nodes/cassettes/n.jsonl"), format!("\"{SECRET}\"\n")).unwrap();
    fs::write(other.join("nodes/baseline.json"), format!("\"{SECRET}\"\n")).unwrap();
    fs::create_dir_all(worktree.join(path).parent().unwrap()).unwrap();
    symlink(other.join(path), worktree.join(path)).unwrap();
    (Folder::new(worktree, "nodes"), other)
}

/// Returns all files below a directory, with their texts.
fn all(at: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(at).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(all(&entry.path()))
        } else {
            found.push((entry.path(), fs::read_to_string(entry.path()).unwrap()))
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn nothing_is_recorded_or_replayed_through_a_link() {
    let node = Node::parse("n", NODE).unwrap();
    for mode in [Mode::Record, Mode::RefreshStale, Mode::Replay] {
        for path in LINKED {
            let place = tempfile::tempdir().unwrap();
            let (folder, other) = linked(place.path(), path);
            let before = all(&other);
            let endpoint = Endpoint::start(vec![text_reply(r#"{"a":"b"}"#, "stop")]);
            let (models, cassettes) = (Models::at(&endpoint.url, "m").unwrap(), Cassettes::new(mode));
            let means = RunContext { cassettes: Some((&cassettes, &folder)), ..RunContext::new(&models) };
            let why = nodes::run_with(&node, Map::new(), means).await.expect_err("a link").why;
            assert!(why.contains(&format!("{path} is a link, and links are not followed")), "{mode:?} {path}: {why}");
            assert!(!why.contains(SECRET), "{why}");
            assert_eq!(all(&other), before, "{mode:?} {path}");
            // The paid model was not asked, because its answer could not be stored.
            assert_eq!(endpoint.requests(), Vec::<serde_json::Value>::new(), "{mode:?} {path}");
        }
    }
}

#[test]
fn recordings_of_another_project_are_not_removed() {
    for path in LINKED {
        let place = tempfile::tempdir().unwrap();
        let (folder, other) = linked(place.path(), path);
        let before = all(&other);
        let why = Cassettes::collect_garbage(&folder).unwrap_err().to_string();
        assert!(why.contains(&format!("{path} is a link, and links are not followed")), "{path}: {why}");
        assert!(!why.contains(SECRET), "{why}");
        assert_eq!(all(&other), before, "{path}");
    }
}

#[test]
fn a_baseline_is_read_and_written_through_no_link() {
    for path in ["nodes", "nodes/baseline.json"] {
        let place = tempfile::tempdir().unwrap();
        let (folder, other) = linked(place.path(), path);
        let before = all(&other);
        let why = Baseline::read(&folder).unwrap_err();
        assert!(why.contains(&format!("{path} is a link, and links are not followed")), "{path}: {why}");
        assert!(!why.contains(SECRET), "{why}");
        let mut baseline = Baseline::default();
        baseline.accept(Answering::Cassette, &[], true);
        // The link itself may be replaced with a real file of the worktree.
        assert_eq!(baseline.write(&folder).is_ok(), path == "nodes/baseline.json");
        assert_eq!(all(&other), before, "{path}");
    }
}

/// Agents read errors, and errors are logged. They must not quote the content of other files.
#[test]
fn no_error_quotes_a_file_of_another_kind() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join("nodes/cassettes")).unwrap();
    for file in ["nodes/baseline.json", "nodes/cassettes/n.jsonl"] {
        fs::write(place.path().join(file), json!(SECRET).to_string()).unwrap();
    }
    let folder = Folder::new(place.path(), "nodes");
    let why = Baseline::read(&folder).unwrap_err();
    assert_eq!(
        why,
        "nodes/baseline.json is not a valid baseline (line 1, column 13); rewrite it with `hob node test --accept`"
    );
    let why = Cassettes::collect_garbage(&folder).unwrap_err().to_string();
    assert!(why.starts_with("cassettes/n.jsonl: line 1 is not a valid recording; ") && !why.contains(SECRET), "{why}");
}

#[test]
fn a_node_file_is_read_through_no_link() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("secret"), format!("---\n{SECRET}: 1\n---\n")).unwrap();
    fs::create_dir_all(place.path().join("worktree/nodes")).unwrap();
    symlink(place.path().join("secret"), place.path().join("worktree/nodes/n.node.md")).unwrap();
    let why = Folder::new(place.path().join("worktree"), "nodes").file_node("n").unwrap_err().to_string();
    assert!(why.contains("nodes/n.node.md is a link, and links are not followed") && !why.contains(SECRET), "{why}");
}

#[tokio::test]
async fn an_answer_that_is_nested_too_deeply_is_said_to_be() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let endpoint = Endpoint::start(vec![text_reply(&deep, "stop")]);
    let models = Models::at(&endpoint.url, "m").unwrap();
    let node = Node::parse("n", &NODE.replace("output:", "policy: { attempts: 1 }\noutput:")).unwrap();
    let failure = nodes::run(&node, Map::new(), &models).await.expect_err("no value");
    assert_eq!(
        failure.why,
        "the answer is nested too deeply: JSON has at most 127 levels here (attempt 1 of 1, by policy.attempts)"
    );
}

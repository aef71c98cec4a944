//! The status tools of Tidepool's control server have every field that it documents.

use std::path::Path;

use project::Caller;
use serde_json::{Value, json};

use crate::fixture::Here;

/// Calls a tool in a worktree. Its text is the result as JSON.
fn ask(here: &Here, worktree: &Path, tool: &str, arguments: Value) -> Value {
    let (cwd, worktree) = (worktree.to_owned(), worktree.to_owned());
    let answer = here.call_as(Caller { cwd, worktree, ..here.caller("run") }, tool, arguments);
    let said: Value = serde_json::from_str(&answer.text).expect("JSON");
    assert_eq!(said, answer.value);
    said
}

#[test]
fn every_documented_field_is_there() {
    let Some(here) = Here::new() else { return };
    let root = here.repository.root();
    let said = ask(&here, &root, "exo_status", json!({}));
    assert_eq!((&said["bead"], &said["pr"], &said["dirty_files"]), (&Value::Null, &Value::Null, &json!([])));
    assert_eq!(said["sources"]["pull"]["state"], "absent");
    let worktree = json!({"name": "work", "path": root, "branch": "topic", "repo_root": root, "is_worktree": false});
    assert_eq!(said["worktree"], worktree);
    // The branch of a GitHub issue, and a remote that cannot be reached.
    here.github.issue("up/web", 12, json!({"title": "Lists"}));
    here.github.pull("up/web", 7, "up/web:gh-12/lists", json!({"isDraft": true}));
    here.repository.git(&["switch", "-qc", "gh-12/lists"]);
    here.repository.write("src/new", "");
    let said = ask(&here, &root, "exo_reconstitute", json!({}));
    assert_eq!((&said["bead"]["id"], &said["bead"]["tracker"]), (&json!("#12"), &json!("github")));
    assert_eq!((&said["pr"]["number"], &said["pr"]["draft"]), (&json!(7), &json!(true)));
    assert_eq!(said["dirty_files"], json!(["src/"]));
    assert!(said["sources"]["fetch"]["state"].is_string(), "{said}");
    // An issue of Beads whose tracker has its own prefix, in another worktree.
    here.repository.git(&["worktree", "add", "-q", "-b", "bd-a1/lists", "../other"]);
    let issue = json!({
        "id": "web-a1", "title": "Parse lists", "status": "hooked", "priority": 0, "assignee": "ann", "created_by": "carl",
        "dependencies": [{"depends_on_id": "web-e1", "type": "parent-child"}],
    });
    here.repository.write(".beads/issues.jsonl", &format!("{issue}\n"));
    let other = here.repository.temp.path().join("other").canonicalize().unwrap();
    let said = ask(&here, &other, "exo_status", json!({}));
    let mut fields: Vec<&str> = said["bead"].as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    let documented = "assignee created_at created_by dependencies dependents description id issue_type parent priority \
                      status title tracker updated_at";
    assert_eq!(fields.join(" "), documented);
    let bead = ["id", "status", "parent"].map(|field| said["bead"][field].as_str().unwrap());
    assert_eq!(bead, ["web-a1", "hooked", "web-e1"]);
    let worktree =
        json!({"name": "other", "path": other, "branch": "bd-a1/lists", "repo_root": root, "is_worktree": true});
    assert_eq!(said["worktree"], worktree);
    // A fault of the previous system: an error that looks like success.
    let said = ask(&here, &other, "exo_status", json!({"bead_id": "web-a9"}));
    let source = &said["sources"]["issue"];
    assert_eq!((&said["bead"], &source["state"]), (&Value::Null, &json!("absent")));
    assert_eq!(source["detail"], "unknown issue web-a9");
}

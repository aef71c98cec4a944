//! GitHub issues through the real `gh`.

use expect_test::expect;
use serde_json::{Value, json};
use testkit::github::{connection, issue};
use work::WorkSettings;
use work::tracker::branch_issue::Pattern;

use crate::fixture::{Here, work_of};

fn issue_of(here: &Here, branch: &str) -> (Value, String) {
    here.repository.git(&["switch", "-q", "-C", branch]);
    let said = here.call("work_status", json!({"sections": ["issue"], "refresh": true}));
    (said.value["issue"].clone(), said.source("issue"))
}

#[test]
fn a_branch_names_its_issue_by_number() {
    let Some(mut here) = Here::new() else { return };
    let labels = vec![json!({"name": "bug"}), json!({"name": "P1"})];
    let parent = issue(
        "up/web",
        3,
        json!({"title": "The parser", "labels": connection("Label", vec![json!({"name": "epic"})])}),
    );
    let part = issue("up/lib", 4, json!({"title": "Lexer", "state": "CLOSED"}));
    let more = json!({
        "title": "Nested lists",
        "body": "All of them.",
        "labels": connection("Label", labels),
        "assignees": connection("User", vec![json!({"login": "carl"})]),
        "parent": parent,
        "subIssues": connection("Issue", vec![part]),
    });
    here.github.issue("up/web", 12, more);
    let (found, source) = issue_of(&here, "gh-12/lists");
    assert_eq!(source, "ok: . ");
    expect![[r##"
        {
          "tracker": "github",
          "id": "#12",
          "title": "Nested lists",
          "description": "All of them.",
          "status": "open",
          "priority": 1,
          "issue_type": "bug",
          "assignee": "carl",
          "created_at": "2026-01-01T00:00:00Z",
          "created_by": "ann",
          "updated_at": "2026-01-02T00:00:00Z",
          "parent": "#3",
          "dependencies": [
            {
              "id": "#3",
              "title": "The parser",
              "status": "open",
              "priority": null,
              "issue_type": "epic",
              "dependency_type": "parent-child"
            }
          ],
          "dependents": [
            {
              "id": "up/lib#4",
              "title": "Lexer",
              "status": "closed",
              "priority": null,
              "issue_type": "task",
              "dependency_type": "parent-child"
            }
          ],
          "url": "https://github.com/up/web/issues/12"
        }"##]]
    .assert_eq(&serde_json::to_string_pretty(&found).unwrap());
    for branch in ["issue-12", "12-lists", "ann/12-lists"] {
        assert_eq!(issue_of(&here, branch).0["id"], "#12", "{branch}");
    }
    let (none, source) = issue_of(&here, "gh-99/x");
    assert_eq!((none, source.as_str()), (Value::Null, "absent: up/web has no issue #99. "));
    let (none, source) = issue_of(&here, "gh-12/13-lists");
    let both = "absent: the branch names more than one issue: #12, #13. Give one of them as `issue`.";
    assert_eq!((none, source.as_str()), (Value::Null, both));
    let (_, source) = issue_of(&here, "topic");
    assert_eq!(
        source,
        "absent: the branch names no issue. Give `issue`, or name branches gh-NUMBER/slug or bd-ID/slug."
    );
    // The argument, the variable and the settings, in this order of precedence.
    let said = here.call("work_status", json!({"issue": "#12"}));
    assert_eq!(said.value["issue"]["id"], "#12");
    here.asked_env.insert("HOB_ISSUE".to_owned(), "gh-12".to_owned());
    assert_eq!(issue_of(&here, "topic").0["id"], "#12");
    here.asked_env.clear();
    let branches = vec![Pattern::parse("wip/{id}/*").unwrap()];
    here.work = work_of(&here.repository, WorkSettings { branches, ..WorkSettings::default() });
    assert_eq!(issue_of(&here, "wip/12/lists").0["id"], "#12");
    // In a fork, numbers refer to the parent's issues.
    here.github.repository("ann/web", Some("up/web"));
    here.repository.git(&["remote", "set-url", "origin", "https://github.com/ann/web"]);
    assert_eq!(issue_of(&here, "gh-12/lists").0["id"], "#12");
}

#[test]
fn a_server_that_knows_no_sub_issues_is_asked_without_them() {
    let Some(here) = Here::new() else { return };
    here.github.issue("up/web", 12, json!({}));
    here.github.forget_sub_issues();
    let (found, _) = issue_of(&here, "gh-12/lists");
    assert_eq!((&found["id"], &found["parent"]), (&json!("#12"), &Value::Null));
    assert_eq!(here.github.requests().len(), 2);
    issue_of(&here, "gh-12/lists");
    assert_eq!(here.github.requests().len(), 3, "it is not asked for them again");
}

#[test]
fn two_trackers_at_once() {
    let Some(here) = Here::new() else { return };
    here.github.issue("up/web", 12, json!({}));
    here.repository.write(".beads/issues.jsonl", "{\"id\":\"web-a1\",\"title\":\"Lists\"}\n");
    assert_eq!(issue_of(&here, "web-a1-lists").0["tracker"], "beads");
    assert_eq!(issue_of(&here, "gh-12/lists").0["tracker"], "github");
    let (none, source) = issue_of(&here, "web-a1/12-lists");
    let both = "absent: the branch names more than one issue: web-a1, #12. Give one of them as `issue`.";
    assert_eq!((none, source.as_str()), (Value::Null, both));
    let said = here.call("work_status", json!({"issue": "web-a1"}));
    assert_eq!(said.value["issue"]["tracker"], "beads");
    let said = here.call("work_status", json!({"issue": "12"}));
    assert_eq!(said.value["issue"]["tracker"], "github");
    let said = here.call("work_status", json!({"issue": "web-a"}));
    assert_eq!(said.source("issue"), "absent: unknown issue web-a. Did you mean web-a1?");
}

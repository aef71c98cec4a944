//! Pull requests, through the real `gh` and a fixture that serves GitHub's GraphQL API.

use expect_test::expect;
use serde_json::{Value, json};
use testkit::github::{TOKEN, commits, connection, issue};

use crate::fixture::Here;

#[test]
fn an_open_one_with_all_that_is_known_of_it() {
    let Some(here) = Here::new() else { return };
    let threads = vec![json!({"isResolved": false}), json!({"isResolved": true}), json!({"isResolved": false})];
    let more = json!({
        "title": "Parse lists",
        "reviewDecision": "CHANGES_REQUESTED",
        "mergeable": "CONFLICTING",
        "reviewThreads": connection("PullRequestReviewThread", threads),
        "comments": connection("IssueComment", vec![json!({}), json!({})]),
        "commits": commits(Some(&[("build", "FAILURE"), ("test", "SUCCESS"), ("lint", "PENDING"), ("cla", "status:success")])),
    });
    here.github.pull("up/web", 7, "up/web:topic", more);
    let said = here.status();
    expect![[r#"
        {
          "number": 7,
          "title": "Parse lists",
          "url": "https://github.com/up/web/pull/7",
          "state": "open",
          "draft": false,
          "base": "main",
          "head": "topic",
          "review": "changes_requested",
          "checks": {
            "passed": 2,
            "failed": 1,
            "pending": 1,
            "failing": [
              "build"
            ]
          },
          "unresolved": 2,
          "comments": 2,
          "reviews": 0,
          "mergeable": "conflicts",
          "others": []
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&said.value["pull"]).unwrap());
    let line = "pull request #7 open, into main: \"Parse lists\"; conflicts with its base; changes requested; 2 threads not \
                resolved; checks: 1 failed (build), 1 pending, 2 passed\n  https://github.com/up/web/pull/7";
    assert!(said.text.contains(line), "{}", said.text);
    assert_eq!(said.value["sources"]["pull"]["state"], "ok");
    // gh sent the user's token and queried this branch of this repository.
    let requests = here.github.requests();
    assert_eq!((requests.len(), requests[0].host.as_str()), (1, "api.github.com"));
    assert_eq!(requests[0].body["variables"]["head"], "topic");
    // The brief at the end lists what prevents a merge.
    let brief = here.call("work_brief", json!({"at": "end"})).text;
    for said in [
        "#7, checks: 1 failed (build), 1 pending, 2 passed: `gh pr checks 7`",
        "#7 conflicts with main",
        "`gh pr view 7 --comments`",
    ] {
        assert!(brief.contains(said), "{said}: {brief}");
    }
}

fn pull(here: &Here) -> Value {
    here.call("work_status", json!({"refresh": true})).value["pull"].clone()
}

#[test]
fn draft_merged_and_closed_ones() {
    let Some(here) = Here::new() else { return };
    here.github.pull("up/web", 7, "up/web:topic", json!({"isDraft": true}));
    let draft = pull(&here);
    assert_eq!((&draft["state"], &draft["draft"], &draft["checks"]), (&json!("open"), &json!(true), &Value::Null));
    here.github.pull("up/web", 7, "up/web:topic", json!({"state": "MERGED"}));
    assert_eq!(pull(&here)["state"], "merged");
    let said = here.call("work_status", json!({"sections": ["pull"]}));
    assert_eq!(said.text, "pull request #7 merged, into main: \"Pull request 7\"\n  https://github.com/up/web/pull/7");
    here.github.pull("up/web", 7, "up/web:topic", json!({"state": "CLOSED"}));
    assert_eq!(pull(&here)["state"], "closed");
}

#[test]
fn two_for_one_branch_are_both_named_and_an_open_one_counts() {
    let Some(here) = Here::new() else { return };
    here.github.pull("up/web", 5, "up/web:topic", json!({"baseRefName": "release"}));
    here.github.pull("up/web", 7, "up/web:topic", json!({"state": "CLOSED"}));
    here.github.pull("up/web", 3, "up/web:topic", json!({"state": "MERGED"}));
    let found = pull(&here);
    let others: Vec<(&Value, &Value)> =
        found["others"].as_array().unwrap().iter().map(|other| (&other["number"], &other["state"])).collect();
    assert_eq!(found["number"], 5);
    assert_eq!(others, [(&json!(7), &json!("closed")), (&json!(3), &json!("merged"))]);
    let text = here.status().text;
    assert!(text.contains("\n  also #7 closed, into main: \"Pull request 7\"\n  also #3 merged"), "{text}");
}

#[test]
fn one_of_a_fork_is_found_in_its_parent_and_others_of_that_name_are_not() {
    let Some(mut here) = Here::new() else { return };
    here.github.repository("ann/web", Some("up/web"));
    // A branch of the same name in another fork.
    here.github.pull("up/web", 6, "bob/web:topic", json!({}));
    assert_eq!(pull(&here), Value::Null);
    assert_eq!(here.status().source("pull"), "absent: no pull request from topic. ");
    here.github.pull("up/web", 7, "ann/web:topic", json!({"isCrossRepository": true}));
    here.repository.git(&["remote", "add", "fork", "git@github.com:ann/web.git"]);
    here.repository.git(&["config", "remote.pushDefault", "fork"]);
    let found = pull(&here);
    assert_eq!((&found["number"], &found["others"]), (&json!(7), &json!([])));
    // The configuration after `gh pr checkout` of a pull request from another fork.
    here.repository.git(&["config", "branch.topic.pushRemote", "origin"]);
    here.repository.git(&["config", "branch.topic.merge", "refs/pull/6/head"]);
    here.forget();
    assert_eq!(pull(&here)["number"], 6);
}

#[test]
fn the_predecessors_fault_only_the_first_hundred_pull_requests() {
    let Some(here) = Here::new() else { return };
    here.github.pull("up/web", 1, "up/web:topic", json!({}));
    for number in 2..=250 {
        here.github.pull("up/web", number, &format!("up/web:other-{number}"), json!({}));
    }
    assert_eq!(pull(&here)["number"], 1);
    assert_eq!(here.github.requests().len(), 1);
    // A name that many forks use is searched page by page, and the answer counts the rest.
    for number in 251..=300 {
        here.github.pull("up/web", number, &format!("fork{number}/web:topic"), json!({}));
    }
    assert_eq!(pull(&here)["number"], 1);
    assert_eq!(here.github.requests().len(), 1 + 3);
    for number in 301..=400 {
        here.github.pull("up/web", number, &format!("fork{number}/web:topic"), json!({}));
    }
    let said = here.call("work_status", json!({"refresh": true, "sections": ["pull"]}));
    let expected =
        "absent: no pull request from topic among the latest of that name; 51 more of other forks were not checked. ";
    assert_eq!(said.source("pull"), expected);
    assert_eq!(here.github.requests().len(), 1 + 3 + 5);
}

#[test]
fn an_enterprise_host_is_asked_if_gh_is_logged_in_there() {
    let Some(mut here) = Here::new() else { return };
    here.repository.git(&["remote", "set-url", "origin", "ssh://git@git.example.org:2222/up/web"]);
    let said = here.call("work_status", json!({"sections": ["pull"]}));
    expect!["absent: the remote is at git.example.org, where gh has no login. If it is a GitHub server: `gh auth login --hostname git.example.org`."]
        .assert_eq(&said.source("pull"));
    assert_eq!(here.github.requests().len(), 0);
    // An enterprise token is not sent to a server that a checkout names.
    here.env.insert("GH_ENTERPRISE_TOKEN".to_owned(), TOKEN.to_owned());
    assert_eq!(here.call("work_status", json!({"refresh": true})).value["pull"], Value::Null);
    assert_eq!(here.github.requests().len(), 0);
    here.env.remove("GH_ENTERPRISE_TOKEN");
    here.github.log_in("git.example.org", TOKEN);
    here.github.pull("up/web", 7, "up/web:topic", json!({}));
    assert_eq!(pull(&here)["number"], 7);
    let request = &here.github.requests()[0];
    assert_eq!((request.host.as_str(), request.path.as_str()), ("git.example.org", "/api/graphql"));
}

#[test]
fn what_is_kept_is_not_asked_for_again_until_there_is_a_new_commit() {
    let Some(here) = Here::new() else { return };
    here.github.pull("up/web", 7, "up/web:topic", json!({}));
    for _ in 0..5 {
        assert_eq!(here.status().value["pull"]["number"], 7);
    }
    assert_eq!(here.github.requests().len(), 1);
    here.repository.git(&["commit", "-q", "--allow-empty", "-m", "More"]);
    here.status();
    assert_eq!(here.github.requests().len(), 2);
    here.call("work_status", json!({"refresh": true}));
    assert_eq!(here.github.requests().len(), 3);
    // The branch is compared with the target of its pull request.
    here.repository.git(&["update-ref", "refs/remotes/origin/release", "main"]);
    here.github.pull("up/web", 7, "up/web:topic", json!({"baseRefName": "release"}));
    let said = here.call("work_status", json!({"refresh": true}));
    assert_eq!(
        (&said.value["git"]["base"], &said.value["git"]["ahead_of_base"]),
        (&json!("origin/release"), &json!(2))
    );
}

#[test]
fn fifty_who_ask_at_once_in_ten_worktrees_are_one_question_per_branch() {
    let Some(here) = Here::new() else { return };
    let mut directories = vec![here.repository.root()];
    for number in 1..10 {
        let path = format!("../w{number}");
        here.repository.git(&["worktree", "add", "-q", "-b", &format!("topic-{number}"), &path]);
        directories.push(here.repository.root().join(path).canonicalize().unwrap());
    }
    let callers: Vec<_> = (0..50)
        .map(|number| {
            let mut caller = here.caller(&format!("run {number}"));
            caller.worktree = directories[number % 10].clone();
            caller
        })
        .collect();
    let said = here.in_runtime(async {
        let calls = callers.into_iter().map(|caller| {
            let work = here.work.clone();
            tokio::spawn(async move { crate::fixture::call(&work, caller, "work_status", json!({})).await })
        });
        let calls: Vec<_> = calls.collect();
        let mut said = Vec::new();
        for call in calls {
            said.push(call.await.unwrap());
        }
        said
    });
    for said in said {
        assert_eq!(said.value["sources"]["git"]["state"], "ok", "{}", said.text);
        assert_eq!(said.source("pull").split(" from").next().unwrap(), "absent: no pull request");
    }
    assert_eq!(here.github.requests().len(), 10);
}

#[test]
fn what_changes_between_two_calls_is_told_once_and_to_whom_it_is_new() {
    let Some(here) = Here::new() else { return };
    here.github.pull("up/web", 7, "up/web:topic", json!({}));
    let first = here.status();
    assert_eq!(first.value["changed"], json!([]));
    here.repository.git(&["switch", "-q", "main"]);
    here.repository.git(&["commit", "-q", "--allow-empty", "-m", "New on main"]);
    here.repository.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    here.repository.git(&["switch", "-q", "topic"]);
    let more = json!({
        "reviewDecision": "APPROVED",
        "commits": commits(Some(&[("build", "FAILURE")])),
        "comments": connection("IssueComment", vec![json!({})]),
    });
    here.github.pull("up/web", 7, "up/web:topic", more);
    let said = here.call("work_status", json!({"refresh": true}));
    let changed: Vec<&str> =
        said.value["changed"].as_array().unwrap().iter().map(|changed| changed["text"].as_str().unwrap()).collect();
    assert_eq!(
        changed,
        ["new on origin/main: \"New on main\"", "approved", "checks: 1 failed (build)", "1 comment more"]
    );
    assert!(
        said.text.starts_with("changed, git: new on origin/main: \"New on main\"\nchanged, pull: approved\n"),
        "{}",
        said.text
    );
    assert_eq!(here.status().value["changed"], json!([]));
    let other = here.call_as(here.caller("another run"), "work_status", json!({}));
    assert_eq!(other.value["changed"], json!([]));
}

#[test]
fn the_issue_that_it_closes_is_the_branchs() {
    let Some(here) = Here::new() else { return };
    let closes = vec![issue("up/web", 12, json!({"title": "Nested lists", "body": "All of them."}))];
    here.github.pull("up/web", 7, "up/web:topic", json!({"closingIssuesReferences": connection("Issue", closes)}));
    let said = here.status();
    assert_eq!((&said.value["issue"]["id"], &said.value["issue"]["tracker"]), (&json!("#12"), &json!("github")));
    assert!(said.text.contains("issue #12 open, task: \"Nested lists\"\n| All of them."), "{}", said.text);
    let two = vec![issue("up/web", 12, json!({})), issue("up/web", 13, json!({}))];
    here.github.pull("up/web", 7, "up/web:topic", json!({"closingIssuesReferences": connection("Issue", two)}));
    let said = here.call("work_status", json!({"refresh": true}));
    assert_eq!(
        said.source("issue"),
        "absent: the pull request #7 closes more than one issue: #12, #13. Give one of them as `issue`."
    );
}

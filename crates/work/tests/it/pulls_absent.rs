//! Unavailable pull requests: an answer is still given, in time, with the reason and the fix.

use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use serde_json::json;
use testkit::github::{Behaviour, TOKEN};

use crate::fixture::{Here, find_program, program};

/// Checks the sources of git and of the pull request; each answer arrives within the GitHub timeout.
fn check(here: &Here, expected: Expect) {
    let begun = Instant::now();
    let said = here.call("work_status", json!({"refresh": true}));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(said.value["sources"]["git"]["state"], "ok");
    assert_eq!(said.value["git"]["branch"], "topic");
    expected.assert_eq(&said.source("pull"));
    if said.value["sources"]["pull"]["state"] != "absent" {
        let detail = said.value["sources"]["pull"]["detail"].as_str().expect("a reason");
        assert!(said.text.contains(&format!("pull: {detail}.")), "{}", said.text);
    }
}

fn respond(status: u16, headers: &[(&str, &str)], body: &str) -> Behaviour {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Behaviour::Says(status, headers, body.to_owned())
}

#[test]
fn gh_logged_out() {
    let Some(here) = Here::logged_out() else { return };
    check(
        &here,
        expect![
            "not_logged_in: gh is not logged in to github.com. `gh auth login --hostname github.com`. A GH_TOKEN reaches gh if `environment` in your own configuration names it."
        ],
    );
    assert_eq!(here.github.requests().len(), 0);
}

#[test]
fn gh_with_a_token_of_the_environment() {
    let Some(mut here) = Here::logged_out() else { return };
    here.env.insert("GH_TOKEN".to_owned(), TOKEN.to_owned());
    check(&here, expect!["absent: no pull request from topic. "]);
}

#[test]
fn gh_with_a_login_that_does_not_hold_any_more() {
    let Some(here) = Here::logged_out() else { return };
    here.github.log_in("github.com", "old");
    check(
        &here,
        expect![
            "not_logged_in: github.com rejects gh's login. `gh auth login --hostname github.com`. A GH_TOKEN reaches \
             gh if `environment` in your own configuration names it."
        ],
    );
}

#[test]
fn gh_rate_limited() {
    let Some(here) = Here::new() else { return };
    let message = r#"{"message":"API rate limit exceeded for user ID 1."}"#;
    here.github.behave(respond(403, &[("X-RateLimit-Remaining", "0"), ("Retry-After", "90")], message));
    check(&here, expect!["rate_limited: github.com reports that the rate limit is reached. Call again in 2 min."]);
    let body = r#"{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}"#;
    here.github.behave(respond(200, &[], body));
    check(&here, expect!["rate_limited: github.com reports that the rate limit is reached. Call again later."]);
    // No query is repeated in the meantime.
    let before = here.github.requests().len();
    here.status();
    assert_eq!(here.github.requests().len(), before);
}

#[test]
fn gh_forbidden() {
    let Some(here) = Here::new() else { return };
    here.github.behave(respond(403, &[], r#"{"message":"Resource protected by organization SAML enforcement."}"#));
    check(
        &here,
        expect![
            "failed: github.com answered HTTP 403: Resource protected by organization SAML enforcement.. `gh auth status` shows your login and its scopes."
        ],
    );
}

#[test]
fn gh_with_a_server_that_fails() {
    let Some(here) = Here::new() else { return };
    here.github.behave(respond(500, &[], "<html>Unicorn!</html>"));
    check(
        &here,
        expect![
            "failed: github.com answered HTTP 500. Call again later; https://www.githubstatus.com reports outages."
        ],
    );
}

#[test]
fn gh_printing_garbage() {
    let Some(mut here) = Here::new() else { return };
    here.github.behave(respond(200, &[], "<<<\u{1b}[2Jgarbage"));
    check(&here, expect!["failed: github.com sent a malformed answer. `gh api user` shows what the server answers."]);
    // A `gh` that is not the real program.
    let bin = here.repository.temp.path().join("bin");
    program(&bin, "gh", "head -c 100000 /dev/urandom; echo 'panic: \\033[2J' >&2; exit 3");
    here.env.insert("PATH".to_owned(), format!("{}:/usr/bin:/bin", bin.display()));
    here.forget();
    let said = here.call("work_status", json!({"refresh": true}));
    assert_eq!(said.value["sources"]["pull"]["state"], "failed");
    assert!(!said.text.contains('\u{1b}'), "{:?}", said.text);
}

#[test]
fn gh_with_a_repository_that_is_not_there() {
    let Some(here) = Here::new() else { return };
    here.repository.git(&["remote", "set-url", "origin", "https://github.com/up/gone"]);
    check(
        &here,
        expect![
            "failed: github.com has no repository up/gone, or gh's login may not read it. `gh auth status` shows your login; `gh repo view up/gone` tests access."
        ],
    );
}

#[test]
fn gh_slow() {
    let Some(here) = Here::new() else { return };
    here.github.behave(Behaviour::IsSilent);
    check(&here, expect!["timeout: gh timed out after 5 s. Call again; `gh api user` shows whether gh works at all."]);
}

#[test]
fn gh_offline() {
    let Some(here) = Here::new() else { return };
    here.github.behave(Behaviour::HangsUp);
    let said = here.call("work_status", json!({"refresh": true}));
    assert_eq!(said.value["sources"]["pull"]["state"], "offline", "{}", said.text);
    // The host is unreachable; the cached answer is still returned.
    here.github.behave(Behaviour::Answers);
    here.github.pull("up/web", 7, "up/web:topic", json!({}));
    assert_eq!(here.call("work_status", json!({"refresh": true})).value["pull"]["number"], 7);
    std::fs::remove_file(here.repository.temp.path().join("github.sock")).unwrap();
    let said = here.call("work_status", json!({"refresh": true}));
    assert_eq!((&said.value["pull"]["number"], &said.value["sources"]["pull"]["state"]), (&json!(7), &json!("stale")));
    let source = said.source("pull");
    assert!(source.starts_with("stale: cached answer: gh cannot reach github.com: "), "{source}");
    assert!(source.ends_with(" Call again when there is a network."), "{source}");
}

#[test]
fn gh_missing() {
    let Some(mut here) = Here::new() else { return };
    let bin = here.repository.temp.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(find_program("git").unwrap(), bin.join("git")).unwrap();
    let whole = here.env.insert("PATH".to_owned(), bin.display().to_string()).unwrap();
    check(
        &here,
        expect!["not_installed: gh is not on the PATH. Install gh (https://cli.github.com), then `gh auth login`."],
    );
    // gh is found as soon as it is installed.
    here.env.insert("PATH".to_owned(), whole);
    check(&here, expect!["absent: no pull request from topic. "]);
}

#[test]
fn no_remote_and_a_remote_that_is_not_github() {
    let Some(here) = Here::new() else { return };
    here.repository.git(&["remote", "set-url", "origin", "../up.git"]);
    check(&here, expect!["absent: the remote origin is not a GitHub repository. "]);
    here.repository.git(&["remote", "set-url", "origin", "https://gitlab.com/up/web"]);
    check(
        &here,
        expect![
            "absent: the remote is at gitlab.com, where gh has no login. If it is a GitHub server: `gh auth login --hostname gitlab.com`."
        ],
    );
    here.repository.git(&["remote", "remove", "origin"]);
    check(&here, expect!["absent: no remote is configured. `git remote add origin ADDRESS` adds one."]);
    here.repository.git(&["checkout", "-q", "--detach"]);
    let said = here.call("work_status", json!({"sections": ["pull"]}));
    assert_eq!(said.source("pull"), "absent: HEAD is detached. `git switch BRANCH` checks out a branch.");
    assert_eq!(said.text, "pull: HEAD is detached. `git switch BRANCH` checks out a branch.");
}

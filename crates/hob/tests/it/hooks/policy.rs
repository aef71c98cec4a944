//! Changes to a policy that is in force, and the `hob policy` commands.

use super::{DENIES, decision, with_daemon};
use crate::fresh;

const LOOSE: &str = r#"
[[rule]]
id = "reading"
tool = "shell"
command = ["git status", "git log"]
decide = "allow"
"#;

#[test]
fn what_tightens_holds_at_once_and_what_loosens_waits() {
    let project = with_daemon();
    project.write("hob-policy.toml", LOOSE);
    assert_eq!(decision(&project, "git status"), "pass", "an allow waits");
    project.write("hob-policy.toml", &format!("{LOOSE}{DENIES}"));
    assert_eq!((decision(&project, "git push -f"), decision(&project, "git status")), ("deny".into(), "pass".into()));
    // An agent removes the rule or breaks the file: the rule stays in force.
    for text in [LOOSE, "", "no TOML", "[[rule]]\nid = 3\n"] {
        project.write("hob-policy.toml", text);
        assert_eq!(decision(&project, "git push -f"), "deny", "{text}");
    }
    let check = project.run(["policy", "check"]);
    assert_eq!(check.code, Some(1));
    assert!(check.stderr.contains("hob-policy.toml: line 2: "), "{check:?}");
    let status = project.run(["status"]).ok();
    assert!(status.contains("policy: invalid: hob-policy.toml: line 2"), "{status}");
    assert!(status.contains("; until it is fixed, its last valid rules stay in force"), "{status}");
    // The same after a restart, and without the file.
    project.run(["stop"]).ok();
    std::fs::remove_file(project.root().join("hob-policy.toml")).unwrap();
    // On a slow machine the first events may time out before the next daemon is ready.
    testkit::until("a daemon to decide", || (decision(&project, "git push -f") == "deny").then_some(()));
    let pending = project.run(["policy", "check"]).ok();
    assert!(
        pending.contains("needs a grant by `hob trust`: rule no-force-push (deny) was removed or changed"),
        "{pending}"
    );
    // A person grants the text: it holds at the next event, and no other text does.
    project.write("hob-policy.toml", LOOSE);
    let granted = project.run(["trust", "--yes"]).ok();
    assert!(granted.contains("rule reading allows `git status`, `git log`"), "{granted}");
    assert_eq!((decision(&project, "git push -f"), decision(&project, "git status")), ("pass".into(), "allow".into()));
    assert_eq!(decision(&project, "git status; rm x"), "pass", "all of it must be allowed");
    project.write("hob-policy.toml", &format!("{LOOSE}# edited\n"));
    assert_eq!(decision(&project, "git status"), "pass");
    project.write("hob-policy.toml", LOOSE);
    assert_eq!(decision(&project, "git status"), "allow");
    project.run(["trust", "--revoke"]).ok();
    assert_eq!(decision(&project, "git status"), "pass");
}

#[test]
fn a_policy_is_tested_explained_and_tried() {
    let project = with_daemon();
    project.write("hob-policy.toml", DENIES);
    for command in ["git push -f", "git push", "rm -rf /"] {
        decision(&project, command);
    }
    assert_eq!(project.run(["policy", "try"]).ok(), "0 of 3 recorded events would be decided differently.\n");
    project.write("next.toml", "[[rule]]\nid = \"no-rm\"\ncommand = \"rm -rf\"\ndecide = \"ask\"\n");
    let tried = project.run(["policy", "try", "next.toml"]).ok();
    assert!(tried.contains("claude PreToolUse was deny, and would be pass: git push -f"), "{tried}");
    assert!(tried.contains("was pass, and would be ask by no-rm: rm -rf /"), "{tried}");
    assert!(tried.ends_with("2 of 3 recorded events would be decided differently.\n"), "{tried}");
    project.write(
        "tests.toml",
        "[[test]]\nname = \"one\"\nexpect = \"deny\"\nrule = \"no-force-push\"\n\
         event = { hook_event_name = \"PreToolUse\", tool_name = \"Bash\", tool_input = { command = \"git push -uf\" } }\n\
         [[test]]\nname = \"two\"\nexpect = \"deny\"\n\
         event = { hook_event_name = \"PreToolUse\", tool_name = \"Bash\", tool_input = { command = \"git push\" } }\n",
    );
    let tested = project.run(["policy", "test", "tests.toml"]);
    assert_eq!(tested.code, Some(1));
    assert_eq!(tested.stdout, "two: expected deny, got pass\n1 of 2 tests passed.\n");
    project.write("event.json", &String::from_utf8(super::shell("a; sudo git push $X")).unwrap());
    let explained = project.run(["policy", "explain", "event.json"]).ok();
    expect_test::expect![[r#"
        PreToolUse of claude: tool_before, tool Bash (shell)
          runs: a
          runs: sudo git push …
          runs: git push …
          rule no-force-push may match, and decides ask, by `git push …`
        ask by no-force-push: rule no-force-push of the project's policy may forbid `git push …`: the value of `…` is known only at run time (force pushes lose others' work)
    "#]].assert_eq(&explained);
}

#[test]
fn a_person_who_takes_the_policy_away_is_believed_and_an_agent_is_not() {
    let project = with_daemon();
    let file = project.root().join("hob-policy.toml");
    project.write("hob-policy.toml", DENIES);
    assert_eq!(decision(&project, "git push -f"), "deny");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(decision(&project, "git push -f"), "deny");
    let granted = project.run(["trust", "--yes"]).ok();
    assert!(
        granted.contains("does not exist any more; granting drops its former rules:\n  rule no-force-push (deny) was removed or changed"),
        "{granted}"
    );
    assert!(granted.contains("Granted: the project has no policy"), "{granted}");
    assert_eq!(decision(&project, "git push -f"), "pass");
    // The grant is used up: an agent cannot remove later rules.
    project.write("hob-policy.toml", DENIES);
    assert_eq!(decision(&project, "git push -f"), "deny");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(decision(&project, "git push -f"), "deny");
    // An unreadable policy cannot be granted.
    std::fs::create_dir(&file).unwrap();
    let refused = project.run(["trust", "--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("hob-policy.toml: it is not a regular file"), "{refused:?}");
}

#[test]
fn a_record_that_cannot_be_read_denies_until_the_user_grants_the_text() {
    let project = with_daemon();
    project.write("hob-policy.toml", DENIES);
    assert_eq!(decision(&project, "git push -f"), "deny");
    project.run(["stop"]).ok();
    std::fs::write(project.state_dir().join("hooks-policy.json"), "{\"rules\": [").unwrap();
    project.write("hob-policy.toml", "");
    testkit::until("a daemon to decide", || (decision(&project, "ls") == "deny").then_some(()));
    let status = project.run(["status"]).ok();
    assert!(status.contains("hooks-policy.json, cannot be used"), "{status}");
    project.run(["trust", "--yes"]).ok();
    assert_eq!(decision(&project, "git push -f"), "pass");
}

#[test]
fn the_users_own_policy_never_reads_as_empty() {
    let project = with_daemon();
    let path = project.home().join(".config/hob/policy.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, DENIES).unwrap();
    assert_eq!(decision(&project, "git push -f"), "deny");
    std::fs::write(&path, "[[rule").unwrap();
    assert_eq!((decision(&project, "git push -f"), decision(&project, "ls")), ("deny".into(), "pass".into()));
    // The next daemon does not know its rules.
    project.run(["stop"]).ok();
    testkit::until("a daemon to decide", || (decision(&project, "ls") == "deny").then_some(()));
}

#[test]
fn a_limit_of_a_checkout_does_not_let_a_large_event_pass() {
    let project = fresh();
    project.write("hob.toml", "[limits]\nline_bytes = 65536\nconnections = 1\n");
    project.write("hob-policy.toml", DENIES);
    testkit::until("a daemon to decide", || (decision(&project, "git push -f") == "deny").then_some(()));
    assert_eq!(decision(&project, &format!("{} ; git push -f", "x ".repeat(50_000))), "ask", "it is opaque");
}

#[test]
fn a_rule_that_can_never_hold_is_an_error_of_the_check() {
    let project = fresh();
    project.write(
        "hob-policy.toml",
        &format!("{DENIES}[[rule]]\nid = \"a\"\ntool = \"read\"\ncommand = \"cat\"\ndecide = \"deny\"\n"),
    );
    let check = project.run(["policy", "check"]);
    assert_eq!(check.code, Some(1));
    assert!(check.stderr.contains("hob-policy.toml: line 8: rule a: `command` never matches"), "{check:?}");
}

#[test]
fn slow_decisions_do_not_pass_and_do_not_hold_up_others() {
    let project = with_daemon();
    project.write("hob-policy.toml", DENIES);
    assert_eq!(decision(&project, "git push -f"), "deny");
    let slow = super::shell(&format!("{}; git push -f", "cat <<E ".repeat(30_000)));
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| super::hook(&project, &["PreToolUse", "--agent", "claude", "--deadline", "5"], &slow))
            })
            .collect();
        assert_eq!(decision(&project, "git push -f"), "deny");
        for asked in asked {
            let ran = asked.join().unwrap();
            assert!(ran.stdout.contains("permissionDecision"), "it passed: {ran:?}");
        }
    });
}

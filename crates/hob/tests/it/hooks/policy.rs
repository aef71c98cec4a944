//! Changes to a policy that is in force.

use super::{DENIES, decision, with_daemon};
use crate::{fresh, says};

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
    let kept = "; until it is fixed, its last valid rules stay in force";
    says(&project.run(["status"]).ok(), &["policy: invalid: hob-policy.toml: line 2", kept]);
    // The same after a restart, and without the file.
    project.run(["stop"]).ok();
    std::fs::remove_file(project.root().join("hob-policy.toml")).unwrap();
    // On a slow machine the first events may time out before the next daemon is ready.
    testkit::until("a daemon to decide", || (decision(&project, "git push -f") == "deny").then_some(()));
    let pending = "needs a grant by `hob trust`: rule no-force-push (deny) was removed or changed";
    says(&project.run(["policy", "check"]).ok(), &[pending]);
    // A person grants the text: it holds at the next event, and no other text does.
    project.write("hob-policy.toml", LOOSE);
    says(&project.run(["trust", "--yes"]).ok(), &["rule reading allows `git status`, `git log`"]);
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
fn only_a_person_takes_rules_away_even_if_their_record_is_corrupt() {
    let project = with_daemon();
    let file = project.root().join("hob-policy.toml");
    project.write("hob-policy.toml", DENIES);
    assert_eq!(decision(&project, "git push -f"), "deny");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(decision(&project, "git push -f"), "deny");
    let granted = project.run(["trust", "--yes"]).ok();
    let dropped = "granting drops its former rules:\n  rule no-force-push (deny) was removed or changed";
    says(&granted, &["does not exist any more", dropped, "Granted: the project has no policy"]);
    assert_eq!(decision(&project, "git push -f"), "pass");
    // An unreadable policy cannot be granted.
    std::fs::create_dir(&file).unwrap();
    says(&project.run(["trust", "--yes"]).stderr, &["hob-policy.toml: it is not a regular file"]);
    std::fs::remove_dir(&file).unwrap();
    // Without the record, every tool is denied until the user grants the text.
    project.write("hob-policy.toml", DENIES);
    assert_eq!(decision(&project, "git push -f"), "deny");
    project.run(["stop"]).ok();
    project.write_state("hooks-policy.json", "{\"rules\": [");
    project.write("hob-policy.toml", "# nothing\n");
    testkit::until("a daemon to decide", || (decision(&project, "ls") == "deny").then_some(()));
    says(&project.run(["status"]).ok(), &["hooks-policy.json, cannot be used"]);
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

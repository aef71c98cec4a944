//! A policy that changes while it is in force, and the commands about it.

use super::{DENIES, decision, with_daemon};

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
    // An agent takes the rule out, or breaks the file: it holds all the same.
    for text in [LOOSE, "", "no TOML", "[[rule]]\nid = 3\n"] {
        project.write("hob-policy.toml", text);
        assert_eq!(decision(&project, "git push -f"), "deny", "{text}");
    }
    let check = project.run(["policy", "check"]);
    assert_eq!(check.code, Some(1));
    assert!(check.stderr.contains("hob-policy.toml: line 2: "), "{check:?}");
    let status = project.run(["status"]).ok();
    assert!(status.contains("the last good one holds: hob-policy.toml: line 2"), "{status}");
    // Also in the next life, and without the file.
    project.run(["stop"]).ok();
    std::fs::remove_file(project.root().join("hob-policy.toml")).unwrap();
    // On a slow machine the first events may not wait long enough for the next daemon.
    testkit::until("a daemon to decide", || (decision(&project, "git push -f") == "deny").then_some(()));
    let pending = project.run(["policy", "check"]).ok();
    assert!(pending.contains("waits for `hob trust`: rule no-force-push (deny) is gone or changed"), "{pending}");
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
    assert_eq!(project.run(["policy", "try"]).ok(), "0 of 3 journalled events would be decided otherwise.\n");
    project.write("next.toml", "[[rule]]\nid = \"no-rm\"\ncommand = \"rm -rf\"\ndecide = \"ask\"\n");
    let tried = project.run(["policy", "try", "next.toml"]).ok();
    assert!(tried.contains("claude PreToolUse was deny, and would be pass: git push -f"), "{tried}");
    assert!(tried.contains("was pass, and would be ask by no-rm: rm -rf /"), "{tried}");
    assert!(tried.ends_with("2 of 3 journalled events would be decided otherwise.\n"), "{tried}");
    project.write(
        "tests.toml",
        "[[test]]\nname = \"one\"\nexpect = \"deny\"\nrule = \"no-force-push\"\n\
         event = { hook_event_name = \"PreToolUse\", tool_name = \"Bash\", tool_input = { command = \"git push -uf\" } }\n\
         [[test]]\nname = \"two\"\nexpect = \"deny\"\n\
         event = { hook_event_name = \"PreToolUse\", tool_name = \"Bash\", tool_input = { command = \"git push\" } }\n",
    );
    let tested = project.run(["policy", "test", "tests.toml"]);
    assert_eq!(tested.code, Some(1));
    assert_eq!(tested.stdout, "two: expected deny, and it is pass\n1 of 2 tests are as expected.\n");
    project.write("event.json", &String::from_utf8(super::shell("a; sudo git push $X")).unwrap());
    let explained = project.run(["policy", "explain", "event.json"]).ok();
    expect_test::expect![[r#"
        PreToolUse of claude: tool_before, tool Bash (shell)
          runs: a
          runs: sudo git push …
          runs: git push …
          rule no-force-push may match, and decides ask, by `git push …`
        ask by no-force-push: only running `git push …` could tell whether rule no-force-push of the project's policy forbids it: force pushes lose others' work
    "#]].assert_eq(&explained);
}

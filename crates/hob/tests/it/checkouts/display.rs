//! Names and values from a checkout are escaped: they cannot control a terminal or forge lines.

use std::fs;

use testkit::Ran;

use super::SHABBY;
use crate::{fresh, says};

/// Names and values from a checkout are shown for review, and escaped.
#[test]
fn what_is_shown_is_not_obeyed() {
    let project = fresh();
    let evil = project.root().join("a\u{1b}]0;owned\u{7}\u{202e}b");
    fs::create_dir(&evil).unwrap();
    let toml = "[repl]\nprofile = \"x\\u001b[2J\"\n[repl.profiles.\"x\\u001b[2J\"]\ndriver = \"bash\"\n\
                command = [\"sh\", \"\\u202e\"]\nenv = { LD_PRELOAD = \"\\u001b[31m\" }\n[mail]\nspace = \"\\u009b2J\"\n";
    fs::write(evil.join("hob.toml"), toml).unwrap();
    let run = |args: &[&str]| Ran::run(project.hob(args).current_dir(&evil));
    let mut said = String::new();
    let commands: &[&[&str]] =
        &[&["trust"], &["doctor"], &["status"], &["call", "repl_list"], &["status"], &["trust", "--yes"], &["stop"]];
    for args in commands {
        let ran = run(args);
        said.push_str(&ran.stdout);
        said.push_str(&ran.stderr);
    }
    let obeyed = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!said.contains(obeyed), "{said:?}");
    says(&said, &["LD_PRELOAD=\"\\x1b[31m\"", "\\u{202e}", "\\u{9b}2J", "mail.space (line 8)", "command (line 5)"]);
}

/// A name stays on its line: it cannot add lines.
#[test]
fn a_name_forges_no_line() {
    let project = fresh();
    let forged = "No daemon is running for all.";
    let evil = project.root().join(format!("x\n{forged}"));
    let absent = evil.join("absent");
    fs::create_dir(&evil).unwrap();
    let run = |args: &[&str]| {
        let ran = Ran::run(project.hob(args).current_dir(&evil));
        let said = format!("{}\n{}", ran.stdout, ran.stderr);
        assert!(!said.lines().any(|line| line.trim_start().starts_with(forged)), "{args:?}: {said}");
        assert!(said.contains("\\nNo daemon"), "{args:?}: {said}");
        ran
    };
    fs::write(evil.join("hob.toml"), "").unwrap();
    assert_eq!(run(&["stop"]).code, Some(0));
    run(&["cure", "check"]);
    run(&["--project", absent.to_str().unwrap(), "status"]);
    run(&["send", "--file", absent.to_str().unwrap(), "--to", "planner"]);
    fs::write(evil.join("hob.toml"), format!("\"a\\n{forged}\" = 1\n[daemon]\nidle = 1\n")).unwrap();
    run(&["status"]);
    run(&["tools"]);
    fs::write(evil.join("hob.toml"), "").unwrap();
    fs::write(evil.join(format!("y\n{forged}.cure")), SHABBY.replace("Int", "Bool")).unwrap();
    fs::write(evil.join(format!("z\n{forged}.cure")), b"\xff").unwrap();
    run(&["cure", "check"]);
    run(&["cure", "fmt", "--check", "."]);
    // The result of `hob cure check *` with a file of that name.
    run(&["cure", "check", &format!("--x\n{forged}")]);
    fs::create_dir(evil.join(".mcp.json")).unwrap();
    run(&["init", "--agent", "claude"]);
}

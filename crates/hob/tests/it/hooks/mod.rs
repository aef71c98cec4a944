//! `hob hook` as agents run it: output and exit status, with and without a daemon, and the journal.

mod compat;
mod context;
mod install;
mod nested;
mod policy;

use std::io::Write;
use std::process::Stdio;

use expect_test::expect;
use serde_json::{Value, json};
use testkit::{Ran, TestProject, until};

use crate::fresh;

const DENIES: &str = r#"
[[rule]]
id = "no-force-push"
tool = "shell"
command = ["git push --force*", "git push -f", "git push * +*"]
decide = "deny"
reason = "force pushes lose others' work"
"#;

/// Runs a hook with this standard input.
fn hook(project: &TestProject, args: &[&str], input: &[u8]) -> Ran {
    let mut command = project.hob(["hook"].iter().chain(args));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A hook that does not read everything may already have exited.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn shell(command: &str) -> Vec<u8> {
    json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}, "transcript_path": null})
        .to_string()
        .into_bytes()
}

/// Returns the decision on a shell command, in Claude Code's format.
fn decision(project: &TestProject, command: &str) -> String {
    let ran = hook(project, &["PreToolUse", "--agent", "claude", "--deadline", "60"], &shell(command));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    if ran.stdout.is_empty() {
        return "pass".to_owned();
    }
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned()
}

/// Creates a project with a daemon.
fn with_daemon() -> TestProject {
    let project = fresh();
    project.run(["questions"]).ok();
    project.run(["call", "repl_list"]).ok();
    project
}

fn log_lines(project: &TestProject) -> Vec<Value> {
    project.read_state("log/hooks.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_a_rule_forbids_is_denied_and_the_rest_passes_in_silence() {
    let project = with_daemon();
    let nothing = project.run(["hooks", "log"]).ok();
    assert_eq!(nothing, "No hook has run here yet; `hob hooks install` installs hooks.\n");
    project.write("hob-policy.toml", DENIES);
    let denied =
        hook(&project, &["pre-tool-use", "--deadline", "60"], &shell("cd x && sudo git -C y push origin --force"));
    expect![[r#"
        {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"force pushes lose others' work (rule no-force-push of the project's policy)"}}
    "#]]
    .assert_eq(&denied.stdout);
    assert_eq!((denied.code, denied.stderr.as_str()), (Some(0), ""));
    assert_eq!(decision(&project, "git push origin main"), "pass");
    assert_eq!(decision(&project, "git push $HOW"), "ask");
    let lines = log_lines(&project);
    let verdicts: Vec<&str> = lines.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["deny", "pass", "ask"]);
    assert_eq!(lines[0]["raw"]["json"].to_string().as_bytes(), shell("cd x && sudo git -C y push origin --force"));
    let shown = project.run(["hooks", "log"]).ok();
    assert!(shown.contains("claude PreToolUse: deny by no-force-push: git -C y push origin --force"), "{shown}");
    // The daemon's journal contains the events, but not their connections.
    project.run(["stop"]).ok();
    let journal = project.read_state("log/journal.jsonl");
    assert_eq!(journal.matches(r#""record":"hook_answered""#).count(), 3);
    assert_eq!(journal.matches(r#""record":"connection_opened""#).count(), 3, "{journal}");
}

#[test]
fn without_anything_of_hob_nothing_is_started_or_written() {
    let project = fresh();
    for event in ["PreToolUse", "Stop", "SomeNewEvent"] {
        let ran = hook(&project, &[event, "--agent", "claude", "--fail", "closed"], &shell("git push --force"));
        assert_eq!(ran, Ran { code: Some(0), stdout: String::new(), stderr: String::new() });
    }
    assert!(project.processes().is_empty());
    assert!(!project.home().join(".local").exists());
}

#[test]
fn a_wrong_command_line_never_blocks() {
    let project = fresh();
    for args in [
        &[][..],
        &["Stop", "--help"],
        &["Stop", "--nope"],
        &["Stop", "--agent", "nobody"],
        &["Stop", "--fail", "maybe"],
        &["a", "b"],
    ] {
        let ran = hook(&project, args, b"{}");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{args:?}");
        assert!(ran.stderr.contains("usage: hob hook EVENT"), "{ran:?}");
    }
}

#[test]
fn whatever_comes_is_passed_and_kept_byte_for_byte() {
    let project = with_daemon();
    let huge = shell(&"x ".repeat(600_000));
    let inputs: [&[u8]; 10] = [
        b"",
        b"{",
        b"null",
        b"\xff\xfe",
        b"{\"hook_event_name\":\"NewEvent\",\"new\":[1]}\r\n",
        b"[[[[",
        "\u{0}ä".as_bytes(),
        &huge,
        b"{\"hook_event_name\":\n\"NewEvent\"}",
        b"{\"hook_event_name\":\"NewEvent\"}\n",
    ];
    for input in inputs {
        let ran = hook(&project, &["PreToolUse", "--deadline", "60"], input);
        assert_eq!(ran, Ran { code: Some(0), stdout: String::new(), stderr: String::new() });
    }
    let kept: Vec<Vec<u8>> = log_lines(&project)
        .iter()
        .map(|line| match (line["raw"]["text"].as_str(), line["raw"]["hex"].as_str()) {
            (Some(text), _) => text.as_bytes().to_vec(),
            // A payload without spaces between its tokens, so that printing reproduces it exactly.
            (None, None) => match &line["raw"]["json_line"] {
                Value::Null => line["raw"]["json"].to_string().into_bytes(),
                json => format!("{json}\n").into_bytes(),
            },
            (None, Some(hex)) => {
                (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
            }
        })
        .collect();
    assert_eq!(kept, inputs);
}

#[test]
fn a_daemon_that_does_not_answer_fails_as_the_command_line_says() {
    let project = with_daemon();
    project.write("hob-policy.toml", DENIES);
    let pid = project.daemon_pid().unwrap();
    let signal = |name: &str| {
        let ran = std::process::Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
        assert!(ran.success());
    };
    signal("-STOP");
    let failed = |event: &str, agent: &str, fail: &str| {
        let ran =
            hook(&project, &[event, "--agent", agent, "--fail", fail, "--deadline", "0.2"], &shell("git push -f"));
        let why = "the daemon did not answer in time; check it with `hob status`";
        let said = format!("{} {}{}", ran.code.unwrap(), ran.stdout, ran.stderr);
        if fail != "open" && said.trim().len() > 1 {
            assert!(said.contains(why) || said.contains("it took too long"), "{said}");
        }
        (ran.code.unwrap(), !ran.stdout.is_empty(), !ran.stderr.is_empty())
    };
    assert_eq!(failed("PreToolUse", "claude", "open"), (0, false, false));
    assert_eq!(failed("PreToolUse", "claude", "ask"), (0, true, false));
    assert_eq!(failed("PreToolUse", "claude", "closed"), (2, false, true));
    assert_eq!(failed("PreToolUse", "codex", "ask"), (2, false, true));
    signal("-CONT");
    assert_eq!(decision(&project, "git push -f"), "deny");
    let lines = log_lines(&project);
    let missed: Vec<&Value> = lines.iter().filter(|line| !line["missed"].is_null()).collect();
    assert_eq!(missed.len(), 1, "the one that failed open: {lines:?}");
    assert!(!missed[0].to_string().contains("kill"), "{missed:?}");
    assert!(project.run(["hooks", "log"]).ok().contains("no daemon decided"));
}

#[test]
fn a_daemon_is_started_for_a_policy() {
    let project = fresh();
    project.write("hob-policy.toml", DENIES);
    // On a slow machine the first calls may time out before the daemon is ready.
    until("a daemon to decide", || (decision(&project, "git push -f") == "deny").then_some(()));
    assert!(project.daemon_pid().is_some());
}

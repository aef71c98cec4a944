//! `hob hook` as agents run it: output and exit status, with and without a daemon, and the journal.

mod compat;
mod context;
mod install;
mod nested;
mod policy;

use std::io::Write;
use std::process::{Command, Stdio};

use expect_test::expect;
use serde_json::{Value, json};
use testkit::{Ran, TestProject};

use crate::fresh;

const DENIES: &str = r#"
[[rule]]
id = "no-force-push"
tool = "shell"
command = ["git push --force*", "git push -f", "git push * +*"]
decide = "deny"
reason = "force pushes lose others' work"
"#;

/// Runs a command with this standard input.
fn with_input(mut command: Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A hook that does not read everything may already have exited.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs a hook with this standard input.
fn hook(project: &TestProject, args: &[&str], input: &[u8]) -> Ran {
    with_input(project.hob(["hook"].iter().chain(args)), input)
}

/// The result of a hook that says nothing.
fn silence() -> Ran {
    Ran { code: Some(0), stdout: String::new(), stderr: String::new() }
}

fn shell(command: &str) -> Vec<u8> {
    json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}, "transcript_path": null})
        .to_string()
        .into_bytes()
}

/// Returns the decision on a shell command, in Claude Code's format.
pub(crate) fn decision(project: &TestProject, command: &str) -> String {
    verdict(&hook(project, &["PreToolUse", "--agent", "claude", "--deadline", "60"], &shell(command)))
}

/// Returns the decision in an answer for Claude Code.
fn verdict(ran: &Ran) -> String {
    if *ran == silence() {
        return "pass".to_owned();
    }
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned()
}

/// Creates a project with a daemon.
fn with_daemon() -> TestProject {
    let project = fresh();
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
    assert_eq!(journal.matches(r#""record":"connection_opened""#).count(), 2, "{journal}");
}

#[test]
fn without_anything_of_hob_nothing_is_started_or_written() {
    let project = fresh();
    for event in ["PreToolUse", "Stop", "SomeNewEvent"] {
        let args = [event, "--agent", "claude", "--fail", "closed"];
        assert_eq!(hook(&project, &args, &shell("git push --force")), silence());
    }
    assert!(project.processes().is_empty());
    assert!(!project.home().join(".local").exists());
}

#[test]
fn whatever_comes_is_passed_and_kept_byte_for_byte() {
    let project = with_daemon();
    let huge = shell(&"x ".repeat(600_000));
    let event = "{\"hook_event_name\":\"NewEvent\"}";
    let [ended, cut] = [format!("{event}\r\n"), format!("{event}\n{{")];
    let inputs: [&[u8]; 7] = [b"", b"[[[[", b"\xff\xfe", "\u{0}ä".as_bytes(), ended.as_bytes(), cut.as_bytes(), &huge];
    for input in inputs {
        assert_eq!(hook(&project, &["PreToolUse", "--deadline", "60"], input), silence());
    }
    let log = project.state_dir().join("log");
    let kept: Vec<Vec<u8>> = ::hooks::journal::lines(&log).map(|line| line.raw.bytes().unwrap().into_owned()).collect();
    assert_eq!(kept, inputs);
}

#[test]
fn what_a_daemon_did_not_decide_in_time_is_in_the_log() {
    let project = with_daemon();
    project.write("hob-policy.toml", DENIES);
    let pid = project.daemon_pid().unwrap().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    let hook_failing = |fail: &str| {
        let args = ["PreToolUse", "--agent", "claude", "--fail", fail, "--deadline", "0.2"];
        hook(&project, &args, &shell("git push -f"))
    };
    signal("-STOP");
    assert_eq!(hook_failing("open"), silence());
    let ran = hook_failing("closed");
    let whys = ["the daemon did not answer in time; check it with `hob status`", "it took too long"];
    assert!(ran.code == Some(2) && whys.iter().any(|why| ran.stderr.contains(why)), "{ran:?}");
    signal("-CONT");
    assert_eq!(decision(&project, "git push -f"), "deny");
    let lines = log_lines(&project);
    let missed = lines.iter().filter(|line| !line["missed"].is_null()).count();
    assert_eq!(missed, 1, "the one that failed open: {lines:?}");
    assert!(project.run(["hooks", "log"]).ok().contains("no daemon decided"));
}

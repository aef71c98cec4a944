//! `hob eval` behaves like an ordinary program: streams, exit codes, signals, a person at a terminal.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use testkit::{Ran, Screen, TestProject, has_program, has_version, until};

use crate::terminal::at_a_terminal;
use crate::{fresh, json_of, says};

/// Starts a command with pipes.
fn spawn(project: &TestProject, args: &[&str]) -> Child {
    project.hob(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the first line of a stream.
fn first_line(stream: &mut Option<impl Read>) -> String {
    let mut line = String::new();
    BufReader::new(stream.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

#[test]
fn a_pipe_gets_the_very_bytes_that_a_program_prints() {
    let project = fresh();
    let check = |code: &str, stdout: &[u8], stderr: &[u8]| {
        let ran = project.hob(["eval", "--profile", "bash", code]).output().unwrap();
        assert!(ran.status.success() && ran.stdout == stdout && ran.stderr == stderr, "{code}");
    };
    check("echo out; echo err >&2", b"out\n", b"err\n");
    check("for i in 1 2 3 4 5 6; do echo same; done", &b"same\n".repeat(6), b"");
    check(r"printf '\377\033[1mx\nno end'", b"\xff\x1b[1mx\nno end", b"");
    let lines: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    check("seq 300000", lines.as_bytes(), b"");
    check("true", b"", b"");
}

#[test]
fn the_status_of_an_evaluation_is_the_exit_code() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    for (call, no_wait) in [(&["eval"][..], ["--wait", "0"]), (&["call", "repl_eval", "--code"], ["--wait-ms", "0"])] {
        let code = |code: &str, more: &[&str]| project.run([call, &[code], more].concat()).code;
        assert_eq!(code("true", &[]), Some(0));
        assert_eq!(code("(exit 3)", &[]), Some(9));
        assert_eq!(code("(exit 3)", &["--json"]), Some(9));
        assert_eq!(code("sleep 600", &no_wait), Some(11));
        assert_eq!(project.run(["call", "repl_wait", "--wait-ms", "0"]).code, Some(11));
        project.run(["call", "repl_interrupt"]).ok();
        assert_eq!(project.run(["call", "repl_wait"]).code, Some(10));
        assert_eq!(code("exit 3", &[]), Some(12));
        project.run(["call", "repl_restart"]).ok();
    }
    assert_eq!(project.run(["eval", "--session", "a b\n", "true"]).code, Some(4));
}

#[test]
fn output_is_shown_as_it_comes_and_code_ends_with_its_command() {
    let project = fresh();
    let sleeps = || project.processes().into_iter().any(|process| process.command == "sleep 600");
    let mut running = spawn(&project, &["eval", "--profile", "bash", "echo before; sleep 600"]);
    assert_eq!(first_line(&mut running.stdout), "before\n");
    until("the sleep to run", || sleeps().then_some(()));
    signal(&running, "INT");
    assert_eq!(running.wait().unwrap().code(), Some(10));
    assert!(!sleeps());
    // The reader of its output ends.
    let script = "hob eval 'while :; do echo x; sleep 0.1; done' | head -n 2";
    assert_eq!(Ran::run(project.command("sh").args(["-c", script])).ok(), "x\nx\n");
    until("the loop to end", || project.run(["call", "repl_list"]).stdout.contains("idle").then_some(()));
    assert_eq!(project.run(["eval", "echo goes on"]).ok(), "goes on\n");
}

#[test]
fn code_that_has_not_begun_is_withdrawn_with_its_command() {
    let project = fresh();
    project.run(["eval", "--profile", "bash", "--wait", "0", "sleep 600"]);
    for name in ["INT", "TERM", "HUP"] {
        let mut waiting = spawn(&project, &["eval", "touch ran"]);
        let said = first_line(&mut waiting.stderr);
        says(&said, &["It waits behind #1 (`sleep 600`, running)", "`hob call repl_interrupt --eval 1` ends that one"]);
        signal(&waiting, name);
        assert_eq!(waiting.wait().unwrap().code(), Some(10), "{name}");
        if has_program("timeout") {
            // `timeout` signals its child, and then its process group, which includes the child again.
            let hob = env!("CARGO_BIN_EXE_hob");
            let args = ["--preserve-status", "-s", name, "0.7", hob, "eval", "touch ran"];
            let ran = Ran::run(project.command("timeout").args(args));
            assert_eq!(ran.code, Some(10), "{name}: {ran:#?}");
        }
    }
    let listed = json_of(&project, &["call", "repl_list"]);
    assert_eq!(listed["sessions"][0]["queue_depth"].as_u64().unwrap_or_default(), 0, "{listed}");
    project.run(["call", "repl_interrupt"]).ok();
    project.run(["eval", "true"]).ok();
    assert!(!project.root().join("ran").exists());
}

#[test]
fn code_behind_a_program_that_waits_for_input_says_so_once() {
    let project = fresh();
    assert_eq!(project.run(["eval", "--profile", "bash", "read x; echo got $x"]).code, Some(11));
    let mut waiting = spawn(&project, &["eval", "echo next"]);
    let (mut said, mut stderr) = (String::new(), BufReader::new(waiting.stderr.take().unwrap()));
    stderr.read_line(&mut said).unwrap();
    let answers =
        "`hob call repl_input --eval 1 --text $'LINE\\n'` answers it, `hob call repl_interrupt --eval 1` ends that one";
    says(&said, &["It waits behind #1 (`read x; echo got $x`, waiting for input)", answers]);
    project.run(["call", "repl_input", "--eval", "1", "--text", "typed\n"]).ok();
    assert_eq!(waiting.wait_with_output().unwrap().stdout, b"next\n");
    says(&project.run(["call", "repl_wait", "--eval", "1"]).ok(), &["got typed"]);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("waiting for input"), "{said}{rest}");
}

/// A program that prints faster than anybody reads delays neither the end of a wait nor an interrupt.
#[test]
fn a_wait_and_an_interrupt_end_while_output_has_no_end() {
    let project = fresh();
    let ran = project.run(["eval", "--profile", "bash", "--wait", "1", "yes"]);
    // It prints more than the log keeps, which is an error.
    assert!(matches!(ran.code, Some(1 | 11)) && ran.stderr.contains("It is still running"), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("y\ny\n"));
    project.run(["call", "repl_interrupt"]).ok();
    assert_eq!(project.run(["eval", "echo over"]).ok(), "over\n");
}

#[test]
fn a_program_that_never_comes_to_its_prompt_is_told_of() {
    let project = fresh();
    let command = r#"["sh", "-c", "echo no prompt here >&2; exec sleep 600"]"#;
    project.write("hob.toml", &format!("[repl.profiles.mine]\ndriver = \"bash\"\ncommand = {command}\n"));
    project.run(["trust", "--yes"]).ok();
    let mut waiting = spawn(&project, &["eval", "--profile", "mine", "1"]);
    let said = first_line(&mut waiting.stderr);
    says(&said, &["The session is still starting (`mine`, for ", "the last output of its program: `no prompt here`"]);
    says(&said, &["`hob call repl_stop` ends it"]);
    // The same holds for an agent, and for later callers.
    let mut peer = project.mcp(&["repl"]);
    peer.initialize();
    let text = peer.call("repl_wait", json!({"eval": 1, "wait_ms": 1})).text;
    says(&text, &["`mine`, starting for ", "it printed `no prompt here`", "repl_stop {\"session\": \"main\"} ends"]);
    project.run(["call", "repl_stop"]).ok();
    assert_ne!(waiting.wait().unwrap().code(), Some(0));
}

#[test]
fn a_terminal_shows_the_facts_and_colours() {
    if !has_program("python3") || !has_program("ghci") || !has_version("ghci", "9.0") {
        return;
    }
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "ghci", "--wait-ms", "50000"]).ok();
    let shown = at_a_terminal(&project, &["eval", "undefinedName + 1"]);
    assert!(shown.contains("\u{1b}[31merror\u{1b}[0m: Variable not in scope: undefinedName"), "{shown:?}");
    assert!(shown.contains("\u{1b}[2m[main #1: error, "), "{shown:?}");
    let plain = project.run(["eval", "undefinedName + 1"]);
    assert_eq!((plain.code, &*plain.stdout), (Some(9), ""), "{plain:#?}");
    says(&plain.stderr, &["error: Variable not in scope: undefinedName"]);
    assert!(!plain.stderr.contains('\u{1b}') && !plain.stderr.contains("[main"), "{plain:#?}");
}

#[test]
fn a_person_types_for_a_program_that_waits() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    // Returns the screen at the end, as one line.
    let shown = |code: &str, steps: &[(&str, &[&str])]| {
        let screen = Screen::run(&project, &format!("hob eval --profile bash '{code}'"));
        for (prompt, keys) in steps {
            screen.until(prompt);
            screen.press(keys);
        }
        screen.until("ended with").replace('\n', "")
    };
    let asks = "printf \"Name? \"; read n; printf \"Age? \"; read a; echo $n is $a";
    says(&shown(asks, &[("Name?", &["ann", "Enter"]), ("Age?", &["7", "Enter"])]), &["ann is 7", "ended with 0"]);
    // A question on standard error is shown once, and a password is not.
    let asks = "printf \"Password: \" >&2; read p; echo ${#p} letters";
    let password = shown(asks, &[("Password:", &["secret", "Enter"])]);
    assert!(password.contains("6 letters") && !password.contains("secret"), "{password}");
    assert_eq!(password.matches("Password: ").count(), 1, "{password}");
    // hob prints a hint for a program without a prompt; Ctrl-D leaves it running, with a hint on how to continue.
    let hint = "[waiting for input: your typing goes to the program";
    says(&shown("read x; echo $x", &[(hint, &["C-d"])]), &["`hob call repl_input --eval 3", "ended with 11"]);
    project.run(["call", "repl_interrupt"]).ok();
    // Ctrl-C interrupts it.
    says(&shown("read x; echo $x", &[(hint, &["C-c"])]), &["ended with 10"]);
    until("the session to be idle", || project.run(["call", "repl_list"]).stdout.contains("idle").then_some(()));
}

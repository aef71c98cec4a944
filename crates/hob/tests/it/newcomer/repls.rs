//! Live REPLs in the first hour: answers that did not mention changed or broken code, sessions that ended overnight, and a
//! program that waits for input.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Ran, TestProject, has_program, has_version, until};

use super::says;
use crate::fresh;

/// Starts a GHCi session that has loaded a module.
fn with_shape() -> TestProject {
    let project = fresh();
    project.write("Shape.hs", "module Shape where\n\narea :: Int\narea = 1\n");
    project.run(["call", "repl_start", "--profile", "ghci", "--wait-ms", "50000"]).ok();
    project.run(["eval", ":load Shape.hs"]).ok();
    project
}

#[test]
fn a_list_of_messages_says_what_has_changed_since() {
    if !has_program("ghci") {
        return;
    }
    let project = with_shape();
    let listed = || project.run(["call", "repl_diagnostics"]).ok();
    assert!(!listed().contains("changed"), "{}", listed());
    project.write("Shape.hs", "module Shape where\n\narea :: Int\narea = \n");
    for _ in 0..2 {
        says(&listed(), &["no errors", "Shape.hs has changed since it was loaded: `hob call repl_reload` loads it."]);
    }
    project.run(["call", "repl_reload"]);
    assert!(!listed().contains("changed"), "{}", listed());
    // Code that never compiled is checked too.
    project.write("Shape.hs", "module Shape where\n\narea :: Int\narea = 2\n");
    says(&listed(), &["1 error", "Shape.hs has changed since"]);
}

#[test]
fn a_session_that_starts_on_broken_code_says_where_it_is_broken() {
    if !has_program("cabal") || !has_version("ghci", "9.0") {
        return;
    }
    let project = fresh();
    project.write_two_modules();
    project.write("src/Area.hs", "module Area where\nimport Shape\narea = undefinedName\n");
    let failed = "The last load failed: src/Area.hs:3:8: error: Variable not in scope: undefinedName";
    // The first evaluation, and each that misses a name.
    for code in ["1 + 1", "area", "import Area"] {
        let ran = project.run(["eval", code]);
        says(&ran.stderr, &[failed, "call `hob call repl_reload`; `hob call repl_diagnostics` lists all messages"]);
        assert_eq!(ran.stderr.matches("The last load failed").count(), 1, "{}", ran.stderr);
    }
    assert_eq!(project.run(["eval", "2 + 2"]).stderr, "");
}

#[test]
fn a_description_that_has_changed_needs_a_restart() {
    if !has_program("cabal") || !has_program("ghci") {
        return;
    }
    let project = fresh();
    project.write_two_modules();
    assert_eq!(project.run(["eval", "import Area\ndouble 2"]).ok(), "4\n");
    let description = std::fs::read_to_string(project.root().join("two.cabal")).unwrap();
    project.write("two.cabal", &description.replace("Shape, Area", "Shape, Area, Volume"));
    project.write("src/Volume.hs", "module Volume where\n\nvolume :: Int\nvolume = 3\n");
    let says_so = "two.cabal has changed since the session started, and a reload does not apply it: call `hob call repl_restart --replay definitions`.";
    says(&project.run(["call", "repl_reload"]).ok(), &[says_so]);
    says(&project.run(["eval", "volume"]).stderr, &[says_so]);
    says(&project.run(["call", "repl_diagnostics"]).ok(), &[says_so]);
    project.run(["call", "repl_restart", "--replay", "definitions", "--wait-ms", "50000"]).ok();
    assert_eq!(project.run(["eval", "import Volume\nvolume"]).ok(), "3\n");
    let ran = project.run(["call", "repl_reload"]).ok();
    assert!(!ran.contains("has changed"), "{ran}");
}

#[test]
fn the_session_of_yesterday_is_of_the_same_profile() {
    let project = fresh();
    project.write("app.cabal", "name: app\n");
    assert_eq!(project.run(["eval", "--profile", "bash", "echo $((1+1))"]).ok(), "2\n");
    project.run(["stop"]).ok();
    let ran = project.run(["eval", "echo $((2+2))"]);
    assert_eq!(ran.stdout, "4\n", "{ran:#?}");
    says(&ran.stderr, &["with profile `bash`, the same as under the previous daemon"]);
}

#[test]
fn behind_a_program_that_waits_for_input_nobody_waits() {
    let project = fresh();
    let ran = project.run(["eval", "--profile", "bash", "read x; echo got $x"]);
    assert_eq!(ran.code, Some(11), "{ran:#?}");
    let mut peer = project.mcp(&["repl"]);
    peer.initialize();
    // The longest possible wait: the answer arrives at once.
    let answer = peer.call("repl_eval", json!({"code": "echo next", "wait_ms": 50_000}));
    assert_eq!(answer.structured["status"], "queued", "{}", answer.text);
    says(&answer.text, &["queued behind #1", "waiting for input", "#1 first: answer with repl_input {\"eval\": 1"]);
    let mut hob = project.hob(["eval", "echo third"]);
    let mut waiting = hob.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut said, mut stderr) = (String::new(), BufReader::new(waiting.stderr.take().unwrap()));
    stderr.read_line(&mut said).unwrap();
    let answers =
        "`hob call repl_input --eval 1 --text $'LINE\\n'` answers it, `hob call repl_interrupt --eval 1` ends that one";
    says(&said, &["It waits behind #1 (`read x; echo got $x`, waiting for input)", answers]);
    project.run(["call", "repl_input", "--eval", "1", "--text", "typed\n"]).ok();
    assert_eq!(waiting.wait_with_output().unwrap().stdout, b"third\n");
    says(&project.run(["call", "repl_wait", "--eval", "1"]).ok(), &["got typed"]);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("waiting for input"), "told once: {said}{rest}");
}

#[test]
fn what_it_waits_behind_is_said_once() {
    let project = fresh();
    project.run(["eval", "--profile", "bash", "--wait", "0", "sleep 600"]);
    let ran = project.run(["eval", "--wait", "1", "true"]);
    assert_eq!((ran.code, ran.stderr.matches("It waits behind #1").count()), (Some(11), 1), "{ran:#?}");
    let ran = project.run(["eval", "--wait", "0", "true"]);
    assert_eq!(ran.stderr.matches("It waits behind #1").count(), 1, "{ran:#?}");
}

#[test]
fn a_stop_says_what_it_ended() {
    let project = fresh();
    project.run(["eval", "--profile", "bash", "--wait", "0", "sleep 600"]);
    project.run(["eval", "--wait", "0", "true"]);
    let said = project.run(["stop"]).ok();
    let root = project.root();
    let ended = format!(
        "This also ended evaluation #1 of session main in {}, which was running: `sleep 600`, and 1 that was queued behind it.",
        root.display()
    );
    assert!(said.lines().any(|line| line == ended), "{said}");
    project.run(["eval", "true"]).ok();
    let said = project.run(["stop"]).ok();
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Types a line at a terminal after the program's prompt, and prints the screen.
const TYPING: &str = r#"
import os, pty, signal, sys
signal.alarm(100)
pid, tty = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen, lines = b"", eval(sys.argv[1])
try:
    while part := os.read(tty, 4096):
        seen += part
        while lines and lines[0][0] in seen:
            os.write(tty, lines.pop(0)[1])
except OSError:
    pass
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(seen.replace(b"\r\n", b"\n") + b"exit %d\n" % os.waitstatus_to_exitcode(status))
"#;

#[test]
fn a_person_types_for_a_program_that_waits() {
    if !has_program("python3") {
        return;
    }
    let project = fresh();
    let hob = env!("CARGO_BIN_EXE_hob");
    let type_for = |lines: &str, code: &str| {
        let words = ["-c", TYPING, lines, hob, "eval", "--profile", "bash", code];
        Ran::run(project.command("python3").args(words).env("TERM", "xterm")).ok()
    };
    let shown = type_for(
        "[(b'Name? ', b'ann\\n'), (b'Age? ', b'7\\n')]",
        "printf 'Name? '; read n; printf 'Age? '; read a; echo $n is $a",
    );
    assert!(shown.contains("ann is 7\n") && shown.ends_with("exit 0\n"), "{shown}");
    // A question on standard error is shown once, and a password is not.
    let shown = type_for("[(b'Password: ', b'secret\\n')]", "printf 'Password: ' >&2; read p; echo ${#p} letters");
    assert!(shown.contains("6 letters\n") && !shown.contains("secret"), "{shown}");
    assert_eq!(shown.matches("Password: ").count(), 1, "{shown}");
    // hob prints a hint for a program without a prompt; Ctrl-D leaves it running, with a hint on how to continue.
    let shown = type_for("[(b'your typing goes to the program', b'\\x04')]", "read x; echo $x");
    says(&shown, &["[waiting for input: your typing goes to the program", "`hob call repl_input --eval 3", "exit 11"]);
    project.run(["call", "repl_interrupt"]).ok();
    // Ctrl-C interrupts it.
    let shown = type_for("[(b'your typing goes to the program', b'\\x03')]", "read x; echo $x");
    assert!(shown.ends_with("exit 10\n"), "{shown}");
    let listed: Value = serde_json::from_str(&project.run(["call", "repl_list", "--json"]).ok()).unwrap();
    until("the session to be idle", || (listed["sessions"][0]["state"] == "idle").then_some(()));
}

/// R cuts the echo of a line that is longer than its terminal.
#[test]
fn a_long_temporary_directory_adds_nothing_to_the_output() {
    let project = fresh();
    let long = project.home().join("long".repeat(30));
    std::fs::create_dir(&long).unwrap();
    for (program, profile, code, output) in [
        ("R", "r", "x <- 40\nx + 2", "[1] 42\n"),
        ("lua", "lua", "x = 40\nprint(x + 2)", "42\n"),
        ("ruby", "ruby", "x = 40\nputs x + 2", "42\n"),
        ("sqlite3", "sqlite3", "select 40\n+ 2;", "42\n"),
    ] {
        if has_program(program) {
            let args = ["eval", "--session", profile, "--profile", profile, code];
            let ran = Ran::run(project.hob(args).env("TMPDIR", &long));
            assert!(ran.stdout.starts_with(output), "{profile}: {ran:?}");
        }
    }
}

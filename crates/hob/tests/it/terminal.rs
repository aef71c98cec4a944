//! A person's terminal: a program's output never controls it, and commands show there what a person reads.

use testkit::{Ran, Screen, TestProject, has_program};

use crate::{fresh, json_of, says};

/// Runs a program at its own terminal and returns its output, without the carriage returns that the terminal adds.
const AT_A_TERMINAL: &str = r#"
import os, pty, signal, sys
signal.alarm(300)
pid, tty = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen = b""
try:
    while part := os.read(tty, 4096):
        seen += part
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(seen.replace(b"\r\n", b"\n"))
"#;

/// Returns the terminal output of hob with these arguments.
pub(crate) fn at_a_terminal(project: &TestProject, args: &[&str]) -> String {
    let mut words = vec!["-c", AT_A_TERMINAL, env!("CARGO_BIN_EXE_hob")];
    words.extend(args);
    Ran::run(project.command("python3").args(words).env("TERM", "xterm").env_remove("NO_COLOR")).ok()
}

/// True if the text contains control sequences other than hob's own colours.
fn drives(shown: &str) -> bool {
    let ours = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[4m", "\u{1b}[0m"];
    let rest = ours.iter().fold(shown.to_owned(), |text, own| text.replace(own, ""));
    rest.chars().any(|c| c.is_control() && c != '\n' && c != '\t')
}

#[test]
fn nothing_that_a_program_printed_drives_a_terminal() {
    if !has_program("python3") {
        return;
    }
    let project = fresh();
    project.write("setup.py", "");
    let hostile = r"\x1b[2J\x1b]0;title\x07\x9b31m\x08\x7f\x00\r";
    for code in [
        format!("print('{hostile}')"),
        format!("import sys; sys.stderr.write('{hostile}')"),
        format!("raise ValueError('{hostile}')"),
        format!("type('{}', (), {{'__repr__': lambda self: '{hostile}'}})()", r"\x1b[2Jname"),
        format!(
            "raise SyntaxError('{hostile}', (__import__('sys')._getframe().f_code.co_filename, 1, 1, '{hostile}'))"
        ),
    ] {
        for output in ["text", "json"] {
            let args = ["call", "repl_eval", "--code", &code, "--output", output];
            let terminal = at_a_terminal(&project, &args);
            assert!(
                !drives(&terminal) && terminal.contains("done") | terminal.contains("error"),
                "{code}: {terminal:?}"
            );
            let piped = project.run(args);
            assert!(!drives(&piped.stdout) && !drives(&piped.stderr), "{code}: {piped:?}");
            if output == "json" {
                // JSON escapes keep the value complete for programs.
                let value: serde_json::Value = serde_json::from_str(&piped.stdout).expect("JSON");
                assert!(value["eval"].is_u64(), "{value}");
            }
        }
        let seen = at_a_terminal(&project, &["eval", &code]);
        assert!(!drives(&seen) && seen.contains("[main #"), "{code}: {seen:?}");
    }
    // In the session's journal, in errors, in lists.
    for args in
        [&["call", "repl_read"][..], &["call", "repl_list"], &["call", "repl_eval", "--session", "\u{9b}2J\u{7}"]]
    {
        let ran = project.run(args);
        assert!(!drives(&ran.stdout) && !drives(&ran.stderr), "{args:?}: {ran:?}");
        assert!(!drives(&at_a_terminal(&project, args)), "{args:?}");
    }
}

#[test]
fn what_was_mistyped_is_answered_and_drives_no_terminal() {
    if !has_program("python3") {
        return;
    }
    let project = fresh();
    let name = "--a\u{1b}]0;t\u{7}\u{1b}[2J\nline";
    for args in [&["cure", "check", name][..], &["call", "repl_list", name], &[name], &["stop", name]] {
        let shown = at_a_terminal(&project, args);
        let piped = project.run(args);
        assert!(!drives(&shown) && !drives(&piped.stderr) && piped.code == Some(2), "{args:?}: {shown:?} {piped:?}");
        assert!(shown.contains("\u{1b}[1m") && shown.contains("Usage"), "{args:?}: {shown:?}");
        assert!(!shown.lines().chain(piped.stderr.lines()).any(|line| line.starts_with("line")), "{shown:?} {piped:?}");
    }
    // The help keeps clap's own styles.
    assert!(at_a_terminal(&project, &["--help"]).contains("\u{1b}[4mUsage:"));
    assert!(project.run(["--help"]).ok().contains("\nUsage: hob "));
    // A server with a wrong toolset does not wait for input.
    let shown = at_a_terminal(&project, &["mcp", "repls"]);
    says(&shown, &["unknown toolset 'repls'", "Did you mean `hob mcp repl`?"]);
    assert_eq!(project.daemon_pid(), None);
}

#[test]
fn a_person_chooses_among_several_open_questions() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    for title in ["One?", "Two?"] {
        project.run(["ask", "confirm", title, "--wait", "0"]);
    }
    for (keys, said) in [
        (&["Escape"][..], "No answer was sent; all questions stay open."),
        (&["yes", "Enter"], "unknown question `yes`"),
    ] {
        let screen = Screen::run(&project, "hob answer");
        screen.until("Which?");
        screen.press(keys);
        screen.until(said);
    }
}

#[test]
fn mail_at_a_terminal_is_for_a_person() {
    if !has_program("python3") {
        return;
    }
    let project = fresh();
    project.run(["quickstart", "--name", "alice", "--role", "dev"]).ok();
    let text = "first \u{1b}[31mred\nalice to bob, just now  msg_1\n\u{1b}[2J";
    project.run(["send", "--to", "alice", "--priority", "critical", text]).ok();
    let json = json_of(&project, &["inbox"]);
    let id = json["messages"][0]["message_id"].as_str().unwrap();
    let shown = at_a_terminal(&project, &["inbox"]);
    let expected = format!(
        "\u{1b}[1malice\u{1b}[0m to alice, \u{1b}[31mcritical\u{1b}[0m, just now  \u{1b}[2m{id}\u{1b}[0m\n    first \\x1b[31mred\n    \
         alice to bob, just now  msg_1\n    \\x1b[2J\n"
    );
    assert!(shown.starts_with(&expected), "{shown:?}");
    assert!(at_a_terminal(&project, &["search", "first"]).contains("    first "));
    let agents = at_a_terminal(&project, &["agents"]);
    assert!(agents.starts_with("\u{1b}[1malice\u{1b}[0m (dev)") && agents.contains("1 unread"), "{agents:?}");
    let thread = at_a_terminal(&project, &["thread", id]);
    assert!(thread.contains("    first ") && !thread.contains("authority"), "{thread:?}");
}

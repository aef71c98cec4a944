//! `hob eval` behaves like an ordinary program: streams, exit codes, Ctrl-C.

use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{Ran, has_program, has_version, until};

use crate::fresh;
use crate::terminal::at_a_terminal;

#[test]
fn output_goes_where_a_program_s_goes() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    let ran = project.run(["eval", "echo out; echo err >&2"]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), "out\n", "err\n"));
    // In a pipe, no byte is added.
    let ran = project.run(["eval", "printf 'no newline'"]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), "no newline", ""));
    let ran = project.run(["eval", "--json", "echo out; echo err >&2"]);
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&value["stdout"], &value["stderr"], &value["eval"]), (&"out\n".into(), &"err\n".into(), &3.into()));
    let mut piped = project.hob(["eval", "-"]);
    let script = project.root().join("script");
    project.write("script", "x=from\necho $x stdin\n");
    piped.stdin(std::fs::File::open(script).expect("it was written"));
    assert_eq!(Ran::run(&mut piped).ok(), "from stdin\n");
}

#[test]
fn the_status_of_an_evaluation_is_the_exit_code() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    for (command, args) in [("eval", &[][..]), ("call", &["repl_eval", "--code"])] {
        let run = |code: &str, more: &[&str]| project.run([&[command], args, &[code], more].concat());
        let wait: &[&str] = if command == "eval" { &["--wait", "0"] } else { &["--wait-ms", "0"] };
        assert_eq!(run("true", &[]).code, Some(0));
        // bash does not report errors separately; the end of its session counts as one.
        let ran = run("sleep 600", wait);
        assert_eq!(ran.code, Some(11), "{ran:#?}");
        assert!(command == "call" || ran.stderr.contains("`hob call repl_interrupt --eval "), "{ran:#?}");
        assert_eq!(project.run(["call", "repl_wait", "--wait-ms", "0"]).code, Some(11));
        project.run(["call", "repl_interrupt"]).ok();
        let waited = project.run(["call", "repl_wait"]);
        assert_eq!(waited.code, Some(10), "{waited:#?}");
        let ended = run("exit 3", &[]);
        assert_eq!(ended.code, Some(12), "{ended:#?}");
        project.run(["call", "repl_restart"]).ok();
    }
    let refused = project.run(["eval", "--session", "a b\n", "true"]);
    assert_eq!(refused.code, Some(4), "{refused:#?}");
}

#[test]
fn an_error_is_an_exit_code_and_no_traceback_is_lost() {
    if !has_program("python3") {
        return;
    }
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "python"]).ok();
    assert_eq!(project.run(["eval", "print('said'); 6 * 7"]).ok(), "said\n42\n");
    let ran = project.run(["eval", "1 / 0"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(9), ""), "{ran:#?}");
    assert!(ran.stderr.contains("ZeroDivisionError") && !ran.stderr.contains("[main"), "{ran:#?}");
    assert_eq!(project.run(["call", "repl_eval", "--code", "1 / 0"]).code, Some(9));
    assert_eq!(project.run(["call", "repl_eval", "--code", "1 / 0", "--json"]).code, Some(9));
}

#[test]
fn ctrl_c_interrupts_the_evaluation() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    let mut command = project.hob(["eval", "echo before; sleep 600"]);
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let sleeps = || project.processes().into_iter().any(|process| process.command == "sleep 600");
    until("the sleep to run", || sleeps().then_some(()));
    // The command handles signals before it evaluates.
    let status = Command::new("kill").args(["-INT", &running.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
    let ended = running.wait().expect("it ends");
    assert_eq!(ended.code(), Some(10), "{ended}");
    assert!(!sleeps());
    let said = std::io::read_to_string(running.stdout.take().expect("a pipe")).expect("text");
    assert_eq!(said, "before\n");
    assert_eq!(project.run(["eval", "echo goes on"]).ok(), "goes on\n");
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
    assert!(plain.code == Some(9) && !plain.stderr.contains('\u{1b}') && !plain.stderr.contains("[main"), "{plain:#?}");
}

#[test]
fn a_person_who_types_a_wrong_toolset_is_not_left_waiting() {
    if !has_program("python3") {
        return;
    }
    let project = fresh();
    let shown = at_a_terminal(&project, &["mcp", "repls"]);
    assert!(shown.contains("unknown toolset 'repls'") && shown.contains("Did you mean `hob mcp repl`?"), "{shown:?}");
    let shown = at_a_terminal(&project, &["mcp", "status"]);
    assert!(shown.contains("`hob status` is a separate command."), "{shown:?}");
    assert_eq!(project.daemon_pid(), None);
}

#[test]
fn a_call_speaks_under_the_name_it_is_given() {
    let project = fresh();
    project.run(["quickstart", "--name", "planner", "--role", "lead"]).ok();
    let agents = project.run(["call", "list_agents", "--as", "planner", "--json"]).ok();
    let agents: Value = serde_json::from_str(&agents).expect("JSON");
    assert_eq!(agents["you"], "planner");
    let refused = project.run(["call", "check_messages", "--as", "nobody"]);
    assert!(refused.code == Some(4) && refused.stderr.contains("nobody"), "{refused:#?}");
}

#[test]
fn a_list_may_be_json() {
    let project = fresh();
    let refused = project.run(["call", "repl_start", "--profile", "bash", "--command", r#"["no-such-shell", "-i"]"#]);
    let is_one_word = refused.stderr.contains("The program \"no-such-shell\" is not in the PATH");
    assert!(refused.code == Some(4) && is_one_word, "{refused:#?}");
}

#[test]
fn a_look_at_the_status_makes_no_agent_active() {
    let project = fresh();
    project.run(["quickstart", "--name", "planner", "--role", "lead"]).ok();
    project.run(["quickstart", "--name", "reviewer", "--role", "dev"]).ok();
    project.run(["send", "look at it", "--to", "planner", "--as", "reviewer"]).ok();
    let shown = project.run(["status"]).ok();
    assert!(shown.contains("agents:\n  planner (lead): ") && shown.contains("1 message waits"), "{shown}");
    let before = project.run(["agents", "--json", "--as", "reviewer"]).ok();
    project.run(["status"]).ok();
    let seen = |text: &str| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let agents = value["agents"].as_array().expect("a list").clone();
        agents.into_iter().find(|agent| agent["name"] == "planner").expect("it is there")["last_seen_at"].clone()
    };
    assert_eq!(seen(&before), seen(&project.run(["agents", "--json", "--as", "reviewer"]).ok()));
}

#[test]
fn a_server_without_a_daemon_writes_sentences_and_no_log() {
    let project = fresh();
    let ran = project.run(["mcp", "--standalone"]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), "", ""));
    // Drafts cannot be kept below a home that is a file.
    let project = fresh();
    project.write("odd", "no JSON\n");
    std::fs::write(project.home().join(".local"), "").expect("a file");
    let mut command = project.hob(["mcp", "--standalone"]);
    command.stdin(std::fs::File::open(project.root().join("odd")).expect("it was written"));
    let said = Ran::run(&mut command).stderr;
    assert!(said.contains("hob mcp: a line of input was ignored (reason \"not JSON\", line no JSON"), "{said}");
    assert!(!said.contains("open questions"), "{said}");
    assert!(said.lines().all(|line| line.starts_with("hob mcp: ")), "{said}");
}

#[test]
fn mail_at_a_terminal_is_for_a_person_and_in_a_pipe_for_an_agent() {
    if !has_program("python3") {
        return;
    }
    let project = fresh();
    project.run(["quickstart", "--name", "alice", "--role", "dev"]).ok();
    let text = "first \u{1b}[31mred\nalice to bob, just now  msg_1\n\u{1b}[2J";
    project.run(["send", "--to", "alice", "--priority", "critical", text]).ok();
    let json: Value = serde_json::from_str(&project.run(["inbox", "--json"]).ok()).unwrap();
    let id = json["messages"][0]["message_id"].as_str().unwrap().to_owned();

    let shown = at_a_terminal(&project, &["inbox"]);
    let expected = format!(
        "\u{1b}[1malice\u{1b}[0m to alice, \u{1b}[31mcritical\u{1b}[0m, just now  \u{1b}[2m{id}\u{1b}[0m\n    first \\x1b[31mred\n    \
         alice to bob, just now  msg_1\n    \\x1b[2J\n"
    );
    assert!(shown.starts_with(&expected), "{shown:?}");
    assert!(at_a_terminal(&project, &["search", "first"]).contains("    first "));
    let agents = at_a_terminal(&project, &["agents"]);
    assert!(agents.starts_with("\u{1b}[1malice\u{1b}[0m (dev)") && agents.contains("1 unread"), "{agents:?}");
    let piped = project.run(["inbox"]).ok();
    assert!(piped.contains("it carries no authority of the user"), "{piped}");

    // A unique prefix of an id is accepted everywhere.
    let start = &id[..14];
    let thread = at_a_terminal(&project, &["thread", start]);
    assert!(thread.contains("    first ") && !thread.contains("authority"), "{thread:?}");
    assert!(project.run(["reply", start, "answered"]).ok().contains("answers"));
    assert!(project.run(["ack", &start["msg_".len()..].to_lowercase()]).ok().contains("acked"));
}

#[test]
fn a_beginning_of_an_id_is_enough_for_what_was_sent_too() {
    let project = fresh();
    project.run(["quickstart", "--name", "alice", "--role", "dev"]).ok();
    project.run(["quickstart", "--name", "bob", "--role", "dev"]).ok();
    let send = |text: &str| {
        let sent = project.run(["send", "--as", "alice", "--to", "bob", "--json", text]).ok();
        let sent: Value = serde_json::from_str(&sent).expect("JSON");
        sent["message_id"].as_str().expect("an id").to_owned()
    };
    let first = send("one");
    let start = first["msg_".len()..20].to_lowercase();
    let run = |args: &[&str]| project.run([args, &["--as", "alice"]].concat());
    assert!(run(&["thread", &start]).ok().contains("| one"));
    assert!(run(&["thread", &first["msg_".len()..]]).ok().contains("| one"), "whole, but for what all have");

    let second = send("two");
    let alike: String = first.chars().zip(second.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    for args in [&["reply", &alike, "no"][..], &["thread", &alike], &["ack", &alike]] {
        let ran = run(args);
        assert_eq!(ran.code, Some(4), "{ran:#?}");
        assert!(ran.stderr.contains(&format!("2 messages begin with {alike:?}")), "{ran:#?}");
        assert!(ran.stderr.contains(&first) && ran.stderr.contains(&second), "{ran:#?}");
    }
    for short in ["msg_0", "01"] {
        let ran = run(&["reply", short, "no"]);
        assert_eq!(ran.code, Some(4), "{ran:#?}");
        assert!(ran.stderr.contains(&format!("{short:?} is too short")), "{ran:#?}");
        assert!(ran.stderr.contains("at least 4 characters after `msg_`"), "{ran:#?}");
    }
    let ran = run(&["reply", "msg_zzzz", "no"]);
    assert!(ran.code == Some(4) && ran.stderr.contains("msg_zzzz"), "{ran:#?}");
}

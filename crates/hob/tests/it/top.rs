//! `hob top` on a real terminal, with a real agent: it shows what runs, acts on it, and leaves the terminal whole.

use serde_json::{Value, json};
use testkit::{McpPeer, Screen, TestProject, has_program, until};

use crate::{fresh, json_of};

/// A line of the screen when the list has the keyboard.
const LIST: &str = "q quits";

fn agent(project: &TestProject) -> McpPeer {
    let mut peer = project.mcp(&["repl", "mail", "ask"]);
    peer.initialize();
    peer.call("register_agent", json!({"name": "ann", "role": "tester"}));
    peer
}

fn rooms(project: &TestProject) -> Value {
    json_of(project, &["status"])["rooms"].clone()
}

/// `crates/ui/src/top/tests` has what each key does.
#[test]
fn a_person_answers_reads_writes_and_cancels_by_keys() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let mut ann = agent(&project);
    let screen = Screen::run(&project, "hob top");
    screen.until("Nothing waits for you.");
    ann.call("confirm_action", json!({"action": "Delete the branch?", "wait_s": 0}));
    screen.until("ann asks: Delete the branch?");
    // A line meant for a shell, typed into the list.
    screen.type_text("yes, clear");
    assert_eq!(rooms(&project)["questions"][0]["state"], "open");
    screen.press(&["1", "Enter"]);
    screen.until("Tab next");
    screen.press(&["Right", "C-s"]);
    screen.until("▸ [ Send: no ]");
    screen.until("Enter sends");
    screen.press(&["Enter"]);
    screen.until(LIST);
    screen.until("Nothing waits for you.");
    let answered = ann.call("ask_wait", json!({})).structured;
    assert_eq!((&answered["status"], &answered["confirmed"]), (&json!("answered"), &json!(false)));

    ann.call("send_message", json!({"to": "user", "content": "Which port?", "priority": "high"}));
    screen.until("ann writes: Which port?");
    screen.press(&["Enter"]);
    screen.until("│ Which port?");
    until("the message is read", || (rooms(&project)["mail"][0]["to"][0]["state"] == "read").then_some(()));
    screen.press(&["r"]);
    screen.until("To: ann");
    screen.type_text("8080, please.");
    screen.press(&["C-s"]);
    screen.until("Sent to ann.");
    screen.until("│ 8080, please.");
    let taken = ann.call("check_messages", json!({}));
    assert!(taken.text.contains("was written to you by your user"), "{}", taken.text);
    let message = &taken.structured["messages"][0];
    let fields = ["from", "priority", "content"].map(|name| message[name].clone());
    assert_eq!(fields, ["user", "normal", "8080, please."].map(Value::from));
    assert!(message["reply_to"].is_string(), "it continues the thread");

    let screen = Screen::run(&project, "hob top agents");
    let call = ann.start_call("repl_eval", json!({"profile": "bash", "code": "sleep 600", "wait_ms": 600_000}));
    screen.until("repl_eval");
    screen.press(&["x"]);
    screen.until("Cancel the repl_eval of ann?");
    screen.press(&["y"]);
    let answer = ann.answer(call);
    assert!(answer.is_error && answer.text.contains("Your user cancelled this call"), "{}", answer.text);
    screen.until("The call is cancelled");
}

#[test]
fn a_status_line_does_not_wait_for_a_stopped_daemon() {
    let project = fresh();
    let _ann = agent(&project);
    let daemon = project.daemon_pid().unwrap().to_string();
    let signal = |name: &str| assert!(project.command("kill").args([name, &daemon]).status().unwrap().success());
    signal("-STOP");
    let line = project.run(["status", "--line"]).stdout;
    signal("-CONT");
    assert_eq!(line, "hob does not answer\n");
}

#[test]
fn the_terminal_is_whole_however_it_ends() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let _ann = agent(&project);
    // `stty` tells whether the terminal edits lines and echoes keys, as it does before.
    let line = "hob top; stty -a | tr ' ;' '\\n\\n' | grep -x -e '-*icanon' -e '-*echo' | tr '\\n' ' '";
    let is_whole = |screen: &Screen<'_>| {
        let text = screen.until("ended with");
        assert!(text.contains("icanon") && !text.contains("-icanon") && !text.contains("-echo"), "{text}");
        assert!(!text.contains(LIST), "the other screen is back: {text}");
    };
    for end in ["TERM", "INT", "HUP", "QUIT", "USR1", "C-c"] {
        let screen = Screen::run(&project, line);
        screen.until(LIST);
        if end == "C-c" {
            screen.press(&[end])
        } else {
            signal_top(&project, end)
        }
        is_whole(&screen);
    }
    // A shell with job control gets the terminal back while hob top is stopped.
    let screen = Screen::run(&project, "exec bash --norc -i");
    let enter = |text: &str, end: &str| {
        screen.type_text(text);
        screen.until(end);
        screen.press(&["Enter"]);
        screen.until(LIST);
    };
    enter("PS1='ready> '; hob top", "hob top");
    for stop in ["C-z", "TSTP"] {
        if stop == "C-z" {
            screen.press(&[stop])
        } else {
            signal_top(&project, stop)
        }
        screen.until("Stopped");
        enter("stty -a | tr ' ;' '\\n\\n' | grep -c -x -e icanon -e echo; fg", "fg");
    }
    // SIGSTOP leaves no time to give the terminal back.
    signal_top(&project, "STOP");
    screen.until("Stopped");
    enter("fg", "fg");
    screen.press(&["q"]);
    // The shell's own screen is back: hob top takes no more keys.
    screen.until("grep -c -x");
    screen.type_text("echo $((40 + 2))");
    screen.press(&["Enter"]);
    let text = screen.until("42");
    assert!(text.contains("\n2\n"), "both settings were on while it was stopped: {text}");
}

#[test]
fn it_ends_with_its_terminal_while_keys_wait() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    for _ in 0..10 {
        let screen = Screen::run(&project, "exec hob top");
        screen.until(LIST);
        screen.type_text(&"jk1234".repeat(20));
        drop(screen);
        until("hob top has ended", || find_top(&project).is_none().then_some(()));
    }
}

fn signal_top(project: &TestProject, signal: &str) {
    let pid = find_top(project).expect("hob top runs");
    let sent = project.command("kill").arg(format!("-{signal}")).arg(pid.to_string()).status();
    assert!(sent.unwrap().success());
}

/// Returns the process of `hob top`. Shells and tmux have it in their arguments too.
fn find_top(project: &TestProject) -> Option<i32> {
    let is_top = |command: &str| {
        command.split(' ').next().is_some_and(|name| name.ends_with("hob")) && command.ends_with(" top")
    };
    let top = project.processes().into_iter().find(|process| is_top(&process.command));
    top.map(|process| process.pid)
}

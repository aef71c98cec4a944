//! `hob top` on a real terminal, with a real agent: it shows what runs, acts on it, and leaves the terminal whole.

use serde_json::{Value, json};
use testkit::{McpPeer, Screen, TestProject, has_program, until};

use crate::fresh;

/// A line of the screen when the list has the keyboard.
const LIST: &str = "q quits";

fn agent(project: &TestProject) -> McpPeer {
    let mut peer = project.mcp(&["repl", "mail", "ask"]);
    peer.initialize();
    peer.call("register_agent", json!({"name": "ann", "role": "tester"}));
    peer
}

fn rooms(project: &TestProject) -> Value {
    let status: Value = serde_json::from_str(&project.run(["status", "--json"]).ok()).unwrap();
    status["rooms"].clone()
}

#[test]
fn a_question_is_found_and_answered_in_its_form_and_no_other_key_answers_it() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let mut ann = agent(&project);
    let screen = Screen::run(&project, "hob top");
    screen.until("Nothing waits for you.");
    ann.call("confirm_action", json!({"action": "Delete the branch?", "wait_s": 0}));
    let now = screen.until("ann asks: Delete the branch?");
    assert!(now.contains("answer"), "{now}");
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
}

#[test]
fn mail_to_the_person_is_read_and_answered_by_keys() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let mut ann = agent(&project);
    let screen = Screen::run(&project, "hob top");
    screen.until("Nothing waits for you.");
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
    screen.press(&["Escape"]);
    screen.until(LIST);
    // Without an agent as the chosen row it goes to all. A message that is left is kept.
    screen.press(&["1", "w"]);
    screen.until("To: everyone");
    screen.type_text("Stop, all.");
    screen.press(&["Escape"]);
    screen.until("not sent");
    screen.press(&["w"]);
    screen.until("Stop, all.");
    screen.press(&["C-p", "C-s"]);
    screen.until("Sent to ann.");
    let taken = ann.call("check_messages", json!({}));
    assert!(taken.text.contains("was written to you by your user"), "{}", taken.text);
    let messages = &taken.structured["messages"];
    let fields =
        |at: usize| [&messages[at]["from"], &messages[at]["priority"], &messages[at]["content"]].map(Value::clone);
    assert_eq!(fields(0), ["user", "high", "Stop, all."].map(Value::from));
    assert_eq!(fields(1), ["user", "normal", "8080, please."].map(Value::from));
    assert!(messages[1]["reply_to"].is_string(), "it continues the thread");
}

#[test]
fn a_call_is_cancelled_by_keys() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let mut ann = agent(&project);
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
    for signal in ["TERM", "INT", "HUP", "QUIT", "USR1"] {
        let screen = Screen::run(&project, line);
        screen.until(LIST);
        signal_top(&project, signal);
        is_whole(&screen);
    }
    let screen = Screen::run(&project, line);
    screen.until(LIST);
    screen.press(&["C-c"]);
    is_whole(&screen);
    // A shell with job control gets the terminal back while hob top is stopped.
    let screen = Screen::run(&project, "exec bash --norc -i");
    screen.type_text("PS1='ready> '; hob top");
    screen.press(&["Enter"]);
    screen.until(LIST);
    for stop in ["key", "signal"] {
        if stop == "key" {
            screen.press(&["C-z"])
        } else {
            signal_top(&project, "TSTP")
        }
        screen.until("Stopped");
        screen.type_text("stty -a | tr ' ;' '\\n\\n' | grep -c -x -e icanon -e echo; fg");
        screen.until("fg");
        screen.press(&["Enter"]);
        screen.until(LIST);
    }
    // SIGSTOP leaves no time to give the terminal back.
    signal_top(&project, "STOP");
    screen.until("Stopped");
    screen.type_text("fg");
    screen.until("fg");
    screen.press(&["Enter"]);
    screen.until(LIST);
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

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
fn an_evaluation_is_shown_while_it_runs_and_interrupted_by_a_key() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let mut ann = agent(&project);
    ann.call("repl_start", json!({"profile": "bash"}));
    let screen = Screen::run(&project, "hob top sessions");
    screen.until("idle");
    let call = ann.start_call("repl_eval", json!({"code": "echo begun; sleep 600"}));
    screen.until("running");
    screen.until("#1 echo begun; sleep 600");
    screen.press(&["2"]);
    let agents = screen.until("repl_eval");
    assert!(agents.contains("ann") && agents.contains("working"), "{agents}");
    // The open row shows the output from its first byte, and follows it.
    screen.press(&["3", "Enter"]);
    screen.until("begun");
    screen.press(&["i"]);
    let answer = ann.answer(call);
    assert!(answer.text.contains("interrupted"), "{}", answer.text);
    screen.press(&["Escape"]);
    screen.until("idle");
    screen.press(&["6"]);
    let calls = screen.until("repl_eval");
    assert!(calls.contains("echo begu"), "{calls}");
    screen.press(&["q"]);
    screen.until("ended with 0");
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
fn the_rows_are_those_of_the_status_and_return_after_a_restart() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    assert_eq!(project.run(["status", "--line"]).ok(), "hob is not running\n");
    let mut ann = agent(&project);
    ann.call("repl_start", json!({"profile": "bash"}));
    let screen = Screen::run(&project, "hob top agents");
    screen.until("ann");
    let agent = &rooms(&project)["agents"][0];
    assert_eq!(
        (&agent["name"], &agent["role"], &agent["state"], &agent["has_mailbox"]),
        (&json!("ann"), &json!("tester"), &json!("working"), &json!(true))
    );
    assert_eq!(project.run(["status", "--line"]).ok(), "1 working\n");
    let once = project.run(["top", "--once", "sessions"]).ok();
    assert!(once.contains("main") && once.contains("bash") && once.contains("idle"), "{once}");
    project.run(["stop"]).ok();
    screen.until("not connected");
    ann.call("list_agents", json!({}));
    until("the face to return", || (!screen.text().contains("not connected")).then_some(()));
    screen.until("ann");
    screen.press(&["1"]);
    screen.until("the daemon started");
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
    for signal in ["TERM", "INT", "HUP"] {
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
    screen.press(&["q"]);
    screen.type_text("echo $((40 + 2))");
    screen.press(&["Enter"]);
    let text = screen.until("42");
    assert!(text.contains("\n2\n"), "both settings were on while it was stopped: {text}");
}

fn signal_top(project: &TestProject, signal: &str) {
    // Shells and tmux have it in their arguments too.
    let is_top = |command: &str| {
        command.split(' ').next().is_some_and(|name| name.ends_with("hob")) && command.ends_with(" top")
    };
    let top = project.processes().into_iter().find(|process| is_top(&process.command));
    let pid = top.expect("hob top runs").pid;
    let sent = project.command("kill").arg(format!("-{signal}")).arg(pid.to_string()).status();
    assert!(sent.unwrap().success());
}

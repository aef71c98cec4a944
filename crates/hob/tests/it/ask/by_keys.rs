//! Questions answered on a terminal, in a form or by prompts.

use serde_json::json;
use testkit::{Screen, TestProject, has_program, kill_hard, until};

use super::{Watcher, agent, all_questions};
use crate::fresh;

/// Creates a project for a test that needs terminals; `None` without tmux.
fn with_terminals() -> Option<TestProject> {
    has_program("tmux").then(fresh)
}

/// Shows a question in a form, whose process id is written into the file `form`.
fn open_form<'a>(project: &'a TestProject, title: &str) -> Screen<'a> {
    let screen = Screen::run(project, "sh -c 'echo $$ > form; exec hob answer'");
    screen.until(title);
    // This is the last line of a form once it accepts keys.
    screen.until("Ctrl-S to Send");
    screen
}

/// Moves to Send, and sends the answer.
fn send(screen: &Screen<'_>) {
    screen.press(&["C-s"]);
    screen.until("Enter sends");
    screen.press(&["Enter"]);
}

fn signal(project: &TestProject, name: &str) {
    let form = project.read("form");
    assert!(project.command("kill").args([name, form.trim()]).status().unwrap().success(), "kill {name} {form}");
}

#[test]
fn a_person_fills_in_a_form_on_a_terminal() {
    let Some(project) = with_terminals() else { return };
    std::fs::write(project.root().join("shot.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let form = json!({
        "title": "The release",
        "message": "Two things are open.",
        "attachments": [
            {"kind": "diff", "label": "the change", "text": "-old\n+new"},
            {"kind": "picture", "label": "the page", "path": "shot.png"},
        ],
        "fields": [
            {"id": "version", "label": "Version", "required": true, "pattern": "v[0-9]+"},
            {"id": "why", "kind": "multiline"},
            {"id": "ship", "kind": "boolean", "label": "Ship it?", "required": true},
            {"id": "when", "kind": "date", "show_if": {"field": "ship", "equals": true}},
        ],
    });
    project.write("form.json", &form.to_string());
    assert_eq!(project.run(["ask", "form", "form.json", "--wait", "0"]).code, Some(6));
    let screen = open_form(&project, "Version *");
    let seen = screen.text();
    for shown in ["Two things are open.", "+new", "the page: /", "pictures/4c4b6a3b"] {
        assert!(seen.contains(shown), "{shown}: {seen}");
    }
    screen.press(&["2", "Enter", "because", "Enter", "of it", "Tab", "Left", "Enter"]);
    screen.until("when (YYYY-MM-DD)");
    screen.press(&["2026-12-01"]);
    send(&screen);
    // The value is invalid: the form stays open, at that field.
    screen.until("it does not match v[0-9]+");
    screen.press(&["C-u", "v", "2"]);
    // The daemon is killed meanwhile, without any effect on the form.
    kill_hard(project.daemon_pid().unwrap());
    send(&screen);
    assert!(screen.until("ended with 0").contains("answered by tester (terminal)"));
    let expected = json!({"version": "v2", "why": "because\nof it", "ship": true, "when": "2026-12-01"});
    assert_eq!(all_questions(&project)[0]["values"], expected);
}

#[test]
fn a_form_ends_when_the_question_is_answered_elsewhere() {
    let Some(project) = with_terminals() else { return };
    let mut peer = agent(&project);
    let shown = project.root().join("shown");
    let watcher = Watcher::start(&project, std::fs::File::create(&shown).unwrap());
    peer.call("confirm_action", json!({"action": "Delete the branch?", "wait_s": 0}));
    let screen = open_form(&project, "Delete the branch?");
    screen.press(&["n"]);
    let claim = ": being answered (terminal)";
    until("the claim", || std::fs::read_to_string(&shown).unwrap().contains(claim).then_some(()));
    screen.press(&["o"]);
    project.run(["answer", "--yes"]).ok();
    screen.until("by tester (command)");
    assert_eq!(std::fs::read_to_string(&shown).unwrap().matches(claim).count(), 1);
    drop(watcher);
    // The same if a key is pressed before the form learns of it.
    peer.call("confirm_action", json!({"action": "Merge?", "wait_s": 0}));
    let screen = open_form(&project, "Merge?");
    signal(&project, "-STOP");
    project.run(["answer", "--yes"]).ok();
    screen.press(&["n"]);
    signal(&project, "-CONT");
    screen.until("by tester (command)");
    // The same if the daemon died before; the input is returned.
    peer.call("confirm_action", json!({"action": "Tag?", "wait_s": 0}));
    let screen = open_form(&project, "Tag?");
    screen.press(&["Tab"]);
    screen.type_text("not this one");
    screen.until("not this one");
    signal(&project, "-STOP");
    kill_hard(project.daemon_pid().unwrap());
    project.run(["answer", "--yes"]).ok();
    signal(&project, "-CONT");
    let left = screen.until("by tester (command)");
    assert!(left.contains("What you had typed:") && left.contains("Note: not this one"), "{left}");
}

#[test]
fn leaving_answers_nothing_and_keeps_what_was_typed() {
    let Some(project) = with_terminals() else { return };
    let mut peer = agent(&project);
    let is_open = || project.run(["questions", "--json"]).stdout.contains("\"open\": true");
    let asked = peer.call("confirm_action", json!({"action": "Deploy?", "danger": "high", "wait_s": 0}));
    let screen = open_form(&project, "Type yes or no, then Enter");
    // Sent at once: the terminal reports the first two as Alt-c.
    screen.press(&["Escape", "c", "l", "e", "a", "r", "Space", "n", "o", "Enter", "Enter"]);
    screen.until("stays open");
    // The signal of a closed terminal does not reach every process.
    drop(open_form(&project, "Type yes or no, then Enter"));
    let form = std::path::Path::new("/proc").join(project.read("form").trim());
    until("the form to end", || (!form.exists()).then_some(()));
    assert!(is_open());
    peer.call("ask_cancel", json!({"question": asked.structured["question"]}));

    peer.call("request_guidance", json!({"context": "Mend what?", "suggestions": ["the test"], "wait_s": 0}));
    let screen = open_form(&project, "Mend what?");
    screen.type_text("mend both");
    screen.until("mend both");
    screen.press(&["Escape"]);
    screen.until("Your input is kept");
    assert!(is_open());
    let screen = open_form(&project, "mend both");
    send(&screen);
    screen.until("ended with 0");
    assert_eq!(peer.call("ask_wait", json!({})).structured["guidance"], "mend both");
}

#[test]
fn a_person_answers_by_prompts() {
    let Some(project) = with_terminals() else { return };
    let form = json!({"title": "The release", "fields": [
        {"id": "ship", "kind": "boolean", "label": "Ship it?", "required": true},
        {"id": "when", "kind": "date", "required": true, "show_if": {"field": "ship", "equals": true}},
        {"id": "copies", "kind": "integer", "min": 1, "default": 2},
    ]});
    project.write("form.json", &form.to_string());
    assert_eq!(project.run(["ask", "form", "form.json", "--wait", "0"]).code, Some(6));
    let screen = Screen::run(&project, "hob answer --plain");
    for (prompt, answer) in [
        ("Ship it? [yes/no]:", "yes"),
        ("when [YYYY-MM-DD]:", "soon"),
        ("copies (2):", "Space"),
        ("send to send it:", "send"),
        ("when [YYYY-MM-DD]:", "2026-12-01"),
        ("send to send it:", "send"),
    ] {
        until(prompt, || screen.text().trim_end().ends_with(prompt).then_some(()));
        screen.press(&[answer, "Enter"]);
    }
    let ended = screen.until("ended with 0");
    assert!(ended.contains("a date is needed") && ended.contains("answered by tester (terminal)"), "{ended}");
    let expected = json!({"ship": true, "when": "2026-12-01", "copies": 2});
    assert_eq!(all_questions(&project)[0]["values"], expected);
}

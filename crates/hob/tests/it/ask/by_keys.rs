//! Questions of the three tools, answered in the terminal form with keys only.

use serde_json::json;
use testkit::{Screen, has_program};

use super::{SENDS, TAKES_KEYS, agent};
use crate::fresh;

#[test]
fn each_tools_question_is_answered_by_keys() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let mut peer = agent(&project);
    let by_keys = |what: &str, keys: &[&str], sends: &str| {
        let screen = Screen::run(&project, "hob answer");
        screen.until(what);
        screen.until(TAKES_KEYS);
        screen.press(keys);
        screen.until(sends);
        screen.until(SENDS);
        screen.press(&["Enter"]);
        let ended = screen.until("ended with 0");
        assert!(ended.contains("answered by tester (terminal)"), "{ended}");
    };
    peer.call("confirm_action", json!({"action": "Delete the branch?", "wait_s": 0}));
    by_keys("Delete the branch?", &["Right", "C-s"], "▸ [ Send: no ]");
    let refused = peer.call("ask_wait", json!({})).structured;
    assert_eq!((&refused["status"], &refused["confirmed"]), (&json!("answered"), &json!(false)));

    let options = json!([["a", "Ape"], ["b", "Bee"]]);
    peer.call("select_option", json!({"prompt": "Which?", "options": options, "wait_s": 0}));
    by_keys("Which?", &["Down", "Enter"], "▸ [ Send: Bee ]");
    assert_eq!(peer.call("ask_wait", json!({})).structured["selected"], "b");

    let suggestions = ["the test", "the program"];
    peer.call("request_guidance", json!({"context": "Mend what?", "suggestions": suggestions, "wait_s": 0}));
    by_keys("Mend what?", &["Down", "Enter"], "▸ [ Send: the program ]");
    assert_eq!(peer.call("ask_wait", json!({})).structured["guidance"], "the program");
}

#[test]
fn leaving_answers_nothing_and_keeps_what_was_typed() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let mut peer = agent(&project);
    let is_open = || project.run(["questions", "--json"]).stdout.contains("\"open\": true");
    let asked = peer.call("confirm_action", json!({"action": "Deploy?", "danger": "high", "wait_s": 0}));
    let screen = Screen::run(&project, "hob answer");
    screen.until("Type yes or no, then Enter");
    // Sent at once: the terminal reports the first two as Alt-c.
    screen.press(&["Escape", "c", "l", "e", "a", "r", "Space", "n", "o", "Enter", "Enter"]);
    screen.until("stays open");
    assert!(is_open());
    peer.call("ask_cancel", json!({"question": asked.structured["question"]}));

    peer.call("request_guidance", json!({"context": "Mend what?", "suggestions": ["the test"], "wait_s": 0}));
    let screen = Screen::run(&project, "hob answer");
    screen.until(TAKES_KEYS);
    screen.type_text("mend both");
    screen.until("mend both");
    screen.press(&["Escape"]);
    screen.until("Your input is kept");
    assert!(is_open());
    let screen = Screen::run(&project, "hob answer");
    screen.until("mend both");
    screen.until(TAKES_KEYS);
    screen.press(&["Enter"]);
    screen.until("▸ [ Send: mend both ]");
    screen.until(SENDS);
    screen.press(&["Enter"]);
    screen.until("ended with 0");
    assert_eq!(peer.call("ask_wait", json!({})).structured["guidance"], "mend both");
}

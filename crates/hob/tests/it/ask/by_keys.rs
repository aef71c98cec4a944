//! The questions of the three tools, answered in the form on a terminal by keys alone.

use serde_json::json;
use testkit::{Screen, has_program};

use super::{TAKES_KEYS, agent};
use crate::fresh;

#[test]
fn each_tools_question_is_answered_by_keys() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let mut peer = agent(&project);
    let by_keys = |what: &str, keys: &dyn Fn(&Screen<'_>)| {
        let screen = Screen::run(&project, "hob answer");
        screen.until(what);
        screen.until(TAKES_KEYS);
        keys(&screen);
        let ended = screen.until("ended with 0");
        assert!(ended.contains("answered by tester (terminal)"), "{ended}");
    };
    peer.call("confirm_action", json!({"action": "Delete the branch?", "wait_s": 0}));
    by_keys("Delete the branch?", &|screen| screen.press(&["n", "C-s"]));
    let refused = peer.call("ask_wait", json!({})).structured;
    assert_eq!((&refused["status"], &refused["confirmed"]), (&json!("answered"), &json!(false)));

    let options = json!([["a", "Ape"], ["b", "Bee"]]);
    peer.call("select_option", json!({"prompt": "Which?", "options": options, "wait_s": 0}));
    by_keys("Which?", &|screen| screen.press(&["Down", "Enter", "C-s"]));
    assert_eq!(peer.call("ask_wait", json!({})).structured["selected"], "b");

    let suggestions = ["the test", "the program"];
    peer.call("request_guidance", json!({"context": "Mend what?", "suggestions": suggestions, "wait_s": 0}));
    by_keys("Mend what?", &|screen| screen.press(&["Down", "Enter", "C-s"]));
    assert_eq!(peer.call("ask_wait", json!({})).structured["guidance"], "the program");
}

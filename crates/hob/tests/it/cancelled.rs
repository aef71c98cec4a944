//! Evaluations whose call was cancelled by a client's `notifications/cancelled`.

use serde_json::json;
use testkit::until;

use crate::fresh;

#[test]
fn after_a_cancelled_call_the_next_answers_say_how_to_end_what_runs() {
    let project = fresh();
    let mut peer = project.mcp(&["repl"]);
    peer.initialize();
    peer.call("repl_start", json!({"profile": "bash"}));
    let call = peer.start_call("repl_eval", json!({"code": "sleep 600"}));
    until("the evaluation to run", || project.run(["status", "--json"]).stdout.contains("\"running\"").then_some(()));
    peer.notify("notifications/cancelled", json!({"requestId": call, "reason": "the user pressed Escape"}));

    // The evaluation continues, and both `repl_list` and the next caller get a hint on how to wait or interrupt.
    let listed = until("the cancelled call to wait no more", || {
        let listed = peer.call("repl_list", json!({})).text;
        listed.contains("no call waits for it").then_some(listed)
    });
    assert!(listed.contains("`sleep 600`") && listed.contains("repl_interrupt {\"eval\": 1} ends it"), "{listed}");
    let queued = peer.call("repl_eval", json!({"code": "echo next", "wait_ms": 0})).text;
    assert!(queued.contains("sleep 600") && queued.contains("repl_interrupt {\"eval\": 1} ends #1"), "{queued}");

    // The hinted call works, and the queued evaluation starts at once.
    let ended = peer.call("repl_interrupt", json!({"eval": 1}));
    assert!(!ended.is_error, "{}", ended.text);
    let next = peer.call("repl_wait", json!({"eval": 2})).text;
    assert!(next.starts_with("next\n"), "{next}");
    // A cancelled call gets no answer (MCP 2025-11-25, Cancellation).
    assert!(!peer.take_unread().iter().any(|message| message["id"] == call), "the cancelled call was answered");
}

//! Running code in sessions that are no longer used.

use expect_test::expect;
use repl::session::SessionState;
use serde_json::json;

use crate::fixture::Fixture;

/// Runs code without waiting for it, until its session has ended. Returns the texts about both.
async fn left_alone(profile: &str, code: &str) -> String {
    let fixture = Fixture::idle(2);
    fixture.call("repl_start", json!({"profile": profile})).await;
    let (_, begun) = fixture.call("repl_eval", json!({"code": code, "wait_ms": 0})).await;
    assert_eq!(begun["status"], "running", "{begun}");
    let handle = fixture.handle("main");
    let mut seen = handle.watch();
    let ended = tokio::time::timeout(testkit::patience(), seen.wait_for(|info| !info.state.is_alive())).await;
    assert_eq!(ended.expect("in time").expect("the session tells").state, SessionState::Stopped);
    let (result, _) = fixture.call("repl_wait", json!({"eval": 1})).await;
    let (list, _) = fixture.call("repl_list", json!({})).await;
    fixture.repl.shutdown().await;
    format!("{result}\n{list}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runaway_in_python_that_nobody_uses_is_interrupted_and_its_session_ended() {
    let code = "try:\n    while True: pass\nfinally:\n    print('cleaned')";
    expect![[r#"
        Traceback (most recent call last):
          File "<eval 1>", line 2, in <module>
            while True: pass
        KeyboardInterrupt
        [main #1: interrupted, N ms]
        No connection used the session for N s, so it was interrupted (`repl.idle` sets the time).
        main (python): no connection used it for N s, up N s"#]]
    .assert_eq(&left_alone("python", code).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runaway_in_bash_that_nobody_uses_is_interrupted_and_its_session_ended() {
    expect![[r#"
        [main #1: interrupted, N ms]
        No connection used the session for N s, so it was interrupted (`repl.idle` sets the time).
        main (bash): no connection used it for N s, up N s"#]]
    .assert_eq(&left_alone("bash", "while true; do :; done").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runaway_in_ghci_that_nobody_uses_is_interrupted_and_its_session_ended() {
    expect![[r#"
        [main #1: interrupted, N ms]
        No connection used the session for N s, so it was interrupted (`repl.idle` sets the time).
        main (ghci): no connection used it for N s, up N s"#]]
    .assert_eq(&left_alone("ghci", "let f n = f (n + 1 :: Int) in f 0 :: Int").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_ignores_the_interrupt_is_ended_all_the_same() {
    expect![[r#"
        [main #1: killed, N s; repl_restart {"session": "main"} starts it again]
        No connection used the session for N s, so it was interrupted (`repl.idle` sets the time).
        The session ended: no connection used it for N s.
        main (bash): no connection used it for N s, up N s"#]]
    .assert_eq(&left_alone("bash", "trap '' INT; while true; do sleep 1000; done").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_call_waits_for_runs_on() {
    let fixture = Fixture::idle(1);
    fixture.call("repl_start", json!({"profile": "bash"})).await;
    let (text, _) = fixture.call("repl_eval", json!({"code": "sleep 3; echo slept"})).await;
    assert!(text.starts_with("slept\n[main #1: done, "), "{text}");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_closes_leaves_what_it_ran_to_its_end() {
    let fixture = Fixture::idle(1);
    fixture.call("repl_start", json!({"profile": "bash"})).await;
    let handle = fixture.handle("main");
    let (closes, closed) = tokio::sync::oneshot::channel::<()>();
    handle.used_by(7, async move { _ = closed.await });
    fixture.call("repl_eval", json!({"code": "sleep 1000", "wait_ms": 0})).await;
    assert!(handle.info().away.is_none());
    drop(closes);
    let mut seen = handle.watch();
    let ended = tokio::time::timeout(testkit::patience(), seen.wait_for(|info| !info.state.is_alive())).await;
    ended.expect("in time").expect("the session tells");
    fixture.repl.shutdown().await;
}

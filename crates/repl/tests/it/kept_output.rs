//! Data that survives a process or the daemon: output, and the numbers of evaluations.

use expect_test::expect;
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_outlives_its_session_and_its_daemon() {
    let fixture = Fixture::new();
    fixture.call("repl_eval", json!({"code": "putStrLn \"remember me\""})).await;
    fixture.repl.shutdown().await;
    let fixture = fixture.next_daemon().await;
    fixture
        .check(
            "repl_read",
            json!({"grep": "remember"}),
            expect![[r#"
                remember me
                [main: 1 line, up to byte 89 of 89; some of it of an earlier process]"#]],
        )
        .await;
    fixture.check_that_there_is_no_session().await;
    fixture
        .check(
            "repl_list",
            json!({}),
            expect![[r#"
                No sessions. repl_eval starts one.
                main: ended with an earlier daemon, last printed N s ago; repl_read {"session": "main"} has its output"#]],
        )
        .await;
    fixture.call("repl_start", json!({"profile": "bash", "session": "other"})).await;
    let (text, _) = fixture.call("repl_list", json!({})).await;
    assert_eq!(text.matches("main: ended with an earlier daemon").count(), 1, "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_hides_nothing_of_what_was_before() {
    let fixture = Fixture::new();
    fixture.call("repl_start", json!({"profile": "python"})).await;
    let (_, one) = fixture.call("repl_eval", json!({"code": "print('one', end='')"})).await;
    let cursor = one["cursor"].as_u64().expect("a cursor");
    fixture.call("repl_restart", json!({})).await;
    fixture.call("repl_eval", json!({"code": "print('two')"})).await;
    let (text, all) = fixture.call("repl_read", json!({"cursor": cursor - 3})).await;
    let banner = text.lines().find(|line| line.starts_with("Python")).expect("it says what it is").to_owned();
    let (text, total) = (text.replace(&banner, "BANNER"), all["end"].to_string());
    expect![[r#"
        one
        --- a new process; the previous one: it was restarted ---
        BANNER
        two
        [main: up to byte END of END; some of it of an earlier process]"#]]
    .assert_eq(&text.replace(&total, "END"));
    // By number, with the same offsets as before.
    let (text, _) = fixture.call("repl_read", json!({"eval": 1})).await;
    assert_eq!(text, format!("one\n[main: up to byte {cursor} of {total}; of an earlier process]"));
    let (text, _) = fixture.call("repl_read", json!({"eval": 2})).await;
    assert_eq!(text, format!("two\n[main: up to byte {total} of {total}]"));
    fixture
        .check(
            "repl_wait",
            json!({"eval": 1}),
            expect![[r#"
        one
        [main #1: done, N ms]"#]],
        )
        .await;
    fixture
        .check(
            "repl_wait",
            json!({"eval": 1, "session": "main"}),
            expect![[r#"
        one
        [main #1: done, N ms]"#]],
        )
        .await;
    // The same after the process exited.
    fixture.call("repl_eval", json!({"code": "import os\nprint('three')\nos._exit(3)"})).await;
    fixture.call("repl_eval", json!({"code": "print('four')"})).await;
    let (text, _) = fixture.call("repl_read", json!({"eval": 3})).await;
    assert!(text.starts_with("three\n[main: up to ") && text.ends_with("; of an earlier process]"), "{text}");
    let (text, _) = fixture.call("repl_read", json!({"grep": "---"})).await;
    assert!(text.contains("--- a new process; the previous one: it exited with status 3 ---"), "{text}");
    let (text, _) = fixture.call("repl_read", json!({"cursor": cursor - 3, "stream": "stdout"})).await;
    assert!(text.starts_with("onePython") && !text.contains("---"), "only what programs printed: {text}");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_of_an_earlier_life_means_that_evaluation_and_no_other() {
    let fixture = Fixture::new();
    fixture.call("repl_start", json!({"profile": "bash"})).await;
    fixture.call("repl_eval", json!({"code": "echo first"})).await;
    fixture.call("repl_eval", json!({"code": "true"})).await;
    let (text, _) = fixture.call("repl_eval", json!({"code": "echo begun; sleep 1000", "wait_ms": 300})).await;
    assert!(text.starts_with("begun\n[main #3: running"), "{text}");
    fixture.repl.shutdown().await;
    let fixture = fixture.next_daemon().await;
    fixture.check("repl_wait", json!({"eval": 3}), expect![[r#"
        error: Evaluation 3 of session "main" ran under an earlier daemon; it may not have ended, and its result is lost.
        Call repl_read with `session` "main" and `eval` 3 for its output.
        Evaluate it again with repl_eval if that is safe."#]]).await;
    fixture
        .check(
            "repl_wait",
            json!({"eval": 1, "session": "main"}),
            expect![[r#"
        error: Evaluation 1 of session "main" ran under an earlier daemon; it had ended, and its result is lost.
        Call repl_read with `session` "main" and `eval` 1 for its output.
        Evaluate it again with repl_eval if that is safe."#]],
        )
        .await;
    fixture
        .check(
            "repl_wait",
            json!({"eval": 2}),
            expect![[r#"
        error: Evaluation 2 ran under an earlier daemon; it may not have ended, and its result is lost.
        Call repl_read without `eval` for the remaining output of a session."#]],
        )
        .await;
    fixture.call("repl_start", json!({"profile": "bash"})).await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "echo next"}),
            expect![[r#"
        next
        [main #4: done, N ms]"#]],
        )
        .await;
    let (text, _) = fixture.call("repl_read", json!({"eval": 3})).await;
    assert!(text.starts_with("begun\n") && text.ends_with("; of an earlier process]"), "{text}");
    let (text, _) = fixture.call("repl_read", json!({"grep": "---"})).await;
    assert!(text.starts_with("--- a new process; the previous one: it ended with an earlier daemon ---\n"), "{text}");
    fixture.repl.shutdown().await;
}

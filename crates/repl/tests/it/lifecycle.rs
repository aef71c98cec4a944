//! The session tools as callers see them, from a session's start to its end.

use expect_test::expect;
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_chosen_for_a_session_outlives_the_daemon() {
    let fixture = Fixture::new();
    let below = fixture.dirs[0].path().join("below");
    std::fs::create_dir(&below).unwrap();
    let main = json!({"profile": "bash", "cwd": "below"});
    fixture.check("repl_start", main, expect!["[main: bash 5.2.15, idle, process N, in /w0/below]"]).await;
    fixture.call("repl_eval", json!({"session": "py", "profile": "python", "code": "1"})).await;
    let fixture = fixture.next_daemon().await;
    let (said, _) = fixture.call("repl_eval", json!({"code": "pwd"})).await;
    assert!(said.starts_with("/w0/below\n"), "{said}");
    assert!(said.contains("with profile `bash`, the same as under the previous daemon;"), "{said}");
    let (said, _) = fixture.call("repl_eval", json!({"session": "py", "code": "2 ** 5"})).await;
    assert!(said.starts_with("32\n") && said.contains("with profile `python`, the same as"), "{said}");
    // A choice that is replaced, or no longer possible, is not binding.
    std::fs::remove_dir(&below).unwrap();
    let fixture = fixture.next_daemon().await;
    let (said, _) = fixture.call("repl_eval", json!({"code": "1+1"})).await;
    assert!(said.starts_with("2\n") && !said.contains("as it was"), "{said}");
    let (said, _) =
        fixture.call("repl_eval", json!({"session": "py", "profile": "bash", "code": "echo $((2+1))"})).await;
    assert!(said.starts_with("3\n"), "{said}");
    let fixture = fixture.next_daemon().await;
    let (said, _) = fixture.call("repl_eval", json!({"session": "py", "code": "echo $((2+2))"})).await;
    assert!(said.starts_with("4\n"), "{said}");
    // A command is not stored, so another program must not take its place.
    fixture.call("repl_start", json!({"session": "own", "profile": "python", "command": ["python3", "-q"]})).await;
    let fixture = fixture.next_daemon().await;
    fixture
        .check(
            "repl_eval",
            json!({"session": "own", "code": "1"}),
            expect![[r#"
                error: Session "own" ended with the previous daemon, which ran it with a `command`.
                Start it with repl_start and the same `command`, or give another name in `session`."#]],
        )
        .await;
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_from_start_to_end() {
    let fixture = Fixture::new();
    fixture.check("repl_list", json!({}), expect!["No sessions. repl_eval starts one."]).await;
    fixture
        .check("repl_start", json!({"profile": "ghci"}), expect!["[main: ghci 9.0.2, idle, process N, in /w0]"])
        .await;
    fixture
        .check("repl_start", json!({}), expect!["[main: ghci 9.0.2, idle, process N, in /w0; it ran already]"])
        .await;
    fixture
        .check(
            "repl_eval",
            json!({"code": ":t map"}),
            expect![[r#"
        map :: (a -> b) -> [a] -> [b]
        [main #1: done, N ms]"#]],
        )
        .await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "x = 5\nimport Data.Char\nmapM_ print [1 .. x]"}),
            expect![[r#"
        1
        2
        3
        4
        5
        [main #2: done, N ms]"#]],
        )
        .await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "getLine", "stdin": "hello\n"}),
            expect![[r#"
        "hello"
        [main #3: done, N ms]"#]],
        )
        .await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "getLine", "wait_ms": 10000}),
            expect![[r#"[main #4: waiting for input, running for N ms: `getLine`; answer with repl_input {"eval": 4, "text": …}, or end it with repl_interrupt {"eval": 4}]"#]],
        )
        .await;
    fixture
        .check(
            "repl_input",
            json!({"text": "hello\n"}),
            expect![[r#"
        "hello"
        [main #4: done, N ms]"#]],
        )
        .await;
    fixture.check("repl_interrupt", json!({}), expect!["[main: nothing runs]"]).await;
    let (_, running) = fixture.call("repl_eval", json!({"code": "sum [1..]", "wait_ms": 50})).await;
    assert_eq!(running["status"], "running");
    fixture.check("repl_interrupt", json!({}), expect!["[main #5: interrupted, N ms; the session is ready]"]).await;
    fixture
        .check(
            "repl_read",
            json!({"tail": true, "max_bytes": 40}),
            expect![[r#"

                1
                2
                3
                4
                5
                "hello"
                "hello"
                Interrupted.
                [main: up to byte 132 of 132; there is more before it]"#]],
        )
        .await;
    fixture
        .check(
            "repl_read",
            json!({"eval": 2}),
            expect![[r#"
                1
                2
                3
                4
                5
                [main: up to byte 103 of 132]"#]],
        )
        .await;
    fixture
        .check(
            "repl_read",
            json!({"grep": "hel"}),
            expect![[r#"
                GHCi, version 9.0.2: https://www.haskell.org/ghc/  :? for help
                "hello"
                "hello"
                [main: 3 lines, up to byte 132 of 132]"#]],
        )
        .await;
    fixture.check("repl_list", json!({}), expect!["main (ghci): idle, N MiB, up N s, idle N s, ends in 59 min"]).await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "toUpper 'x'"}),
            expect![[r#"
        'X'
        [main #6: done, N ms]"#]],
        )
        .await;
    fixture
        .check(
            "repl_restart",
            json!({"replay": "definitions"}),
            expect![[r#"
                [main: ghci 9.0.2, idle, process N, in /w0]
                1 piece of earlier code (definitions, imports, loads, settings) was evaluated again."#]],
        )
        .await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "(x, toUpper 'y')"}),
            expect![[r#"
                (5,'Y')
                [main #8: done, N ms]"#]],
        )
        .await;
    fixture
        .check(
            "repl_restart",
            json!({}),
            expect![[r#"
                [main: ghci 9.0.2, idle, process N, in /w0]
                Earlier definitions are gone."#]],
        )
        .await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "x"}),
            expect![[r#"

                <interactive>:8:1: error: Variable not in scope: x
                [main #9: error, N ms]"#]],
        )
        .await;
    fixture
        .check(
            "repl_stop",
            json!({}),
            expect![[r#"[main: it was stopped; repl_read {"session": "main"} has its output]"#]],
        )
        .await;
    fixture
        .check(
            "repl_wait",
            json!({}),
            expect![[r#"

                <interactive>:8:1: error: Variable not in scope: x
                [main #9: error, N ms]"#]],
        )
        .await;
    fixture.check("repl_list", json!({}), expect!["main (ghci): it was stopped, up N s"]).await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "1+1"}),
            expect![[r#"
                2
                [main #10: done, N ms]
                The session had ended (it was stopped); a new process was started, and earlier definitions are gone."#]],
        )
        .await;
    fixture.repl.shutdown().await;
    assert!(!fixture.repl.busy());
}

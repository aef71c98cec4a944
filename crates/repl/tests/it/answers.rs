//! The text of an answer, the only part that a model sees: the running evaluation and its duration, the evaluation in
//! front, and the next call, each once.

use expect_test::expect;
use repl::session::{EvalRequest, SessionState};
use serde_json::json;

use crate::fixture::Fixture;

/// Waits until the session is in this state.
async fn until(fixture: &Fixture, session: &str, state: SessionState) {
    let (_, list) = fixture.call("repl_list", json!({})).await;
    let found = list["sessions"].as_array().expect("a list").iter().any(|item| item["session"] == session);
    assert!(found, "{list}");
    let handle = fixture.handle(session);
    let mut seen = handle.watch();
    let reached = tokio::time::timeout(testkit::patience(), seen.wait_for(|info| info.state == state)).await;
    reached.expect("in time").expect("the session tells");
}

/// Removes a subshell of bash's own prompt from an interrupt's text: it may just be exiting.
fn ready(said: &str) -> String {
    let lines = said.lines().filter(|line| !line.starts_with("1 process that it started still runs: bash"));
    lines.collect::<Vec<_>>().join("\n").replace("the session takes code", "the session is ready")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_runs_is_named_with_its_age_and_what_is_queued_says_behind_what() {
    let fixture = Fixture::new();
    fixture.call("repl_start", json!({"profile": "bash"})).await;
    fixture.check("repl_eval", json!({"code": "sleep 1000\necho slept", "wait_ms": 0}), expect![[r#"[main #1: running for N ms: `sleep 1000…`; repl_wait {"eval": 1} continues to wait, repl_interrupt {"eval": 1} ends it]"#]]).await;
    fixture.check("repl_eval", json!({"code": "echo second", "wait_ms": 0}), expect![[r#"[main #2: queued behind #1 (`sleep 1000…`, running for N ms, no call waits for it): `echo second`; repl_wait {"eval": 2} continues to wait, repl_interrupt {"eval": 1} ends #1]"#]]).await;
    fixture.check("repl_eval", json!({"code": "echo third", "wait_ms": 0}), expect![[r#"[main #3: queued behind #1 (`sleep 1000…`, running for N ms, no call waits for it) and 1 more: `echo third`; repl_wait {"eval": 3} continues to wait, repl_interrupt {"eval": 1} ends #1]"#]]).await;
    fixture.check("repl_start", json!({}), expect![[r#"[main: bash 5.2.15, running #1 for N ms (`sleep 1000…`, no call waits for it: repl_wait {"eval": 1} would, repl_interrupt {"eval": 1} ends it), process N, in /w0; it ran already]"#]]).await;
    let text = fixture.call("repl_list", json!({})).await.0.replace(", N MiB", "");
    expect![[r#"main (bash): running #1 for N ms (`sleep 1000…`, no call waits for it: repl_wait {"eval": 1} would, repl_interrupt {"eval": 1} ends it), 2 queued, up N s, no connection uses it, ends in 59 min"#]].assert_eq(&text);
    let text = ready(&fixture.call("repl_interrupt", json!({})).await.0);
    expect!["[main #1: interrupted, N ms; 1 queued behind it; the session is ready]"].assert_eq(&text);
    fixture
        .check(
            "repl_wait",
            json!({"eval": 3}),
            expect![[r#"
        third
        [main #3: done, N ms]"#]],
        )
        .await;
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_cancelled_call_left_running_is_told_by_the_next_answer() {
    let fixture = Fixture::new();
    fixture.call("repl_start", json!({"profile": "bash"})).await;
    let caller = fixture.caller(0);
    let mut cancelled = Box::pin(fixture.repl.eval(&caller, None, EvalRequest::new("while true; do :; done")));
    let begun = std::future::poll_fn(|cx| std::task::Poll::Ready(cancelled.as_mut().poll(cx))).await;
    assert!(begun.is_pending());
    tokio::select! {
        _ = &mut cancelled => panic!("it never ends"),
        () = until(&fixture, "main", SessionState::Running) => {}
    }
    let (waited_for, _) = fixture.call("repl_eval", json!({"code": "echo next", "wait_ms": 0})).await;
    drop(cancelled);
    let (left, _) = fixture.call("repl_eval", json!({"code": "echo next", "wait_ms": 0})).await;
    expect![[r#"
        [main #2: queued behind #1 (`while true; do :; done`, running for N ms): `echo next`; repl_wait {"eval": 2} continues to wait, repl_interrupt {"eval": 1} ends #1]
        [main #3: queued behind #1 (`while true; do :; done`, running for N ms, no call waits for it) and 1 more: `echo next`; repl_wait {"eval": 3} continues to wait, repl_interrupt {"eval": 1} ends #1]"#]].assert_eq(&format!("{waited_for}\n{left}"));
    let text = fixture.call("repl_list", json!({})).await.0.replace(", N MiB", "");
    expect![[r#"main (bash): running #1 for N ms (`while true; do :; done`, no call waits for it: repl_wait {"eval": 1} would, repl_interrupt {"eval": 1} ends it), 2 queued, up N s, no connection uses it, ends in 59 min"#]].assert_eq(&text);
    let (text, _) = fixture.call("repl_interrupt", json!({"eval": 3})).await;
    assert!(
        text.contains("It was withdrawn before it began.") && text.contains("the running evaluation continues"),
        "{text}"
    );
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_end_of_an_evaluation_is_said_once() {
    let fixture = Fixture::new();
    for (session, codes) in [
        ("python", ["1/0", "while True: pass", "import os; os._exit(3)"]),
        ("bash", ["echo out; echo err >&2; (exit 7)", "while :; do :; done", "exit 3"]),
        ("ghci", ["head []", "let f n = f (n + 1 :: Int) in f 0", ":quit"]),
    ] {
        fixture.call("repl_start", json!({"session": session, "profile": session})).await;
        let (failed, _) = fixture.call("repl_eval", json!({"session": session, "code": codes[0]})).await;
        fixture.call("repl_eval", json!({"session": session, "code": codes[1], "wait_ms": 0})).await;
        until(&fixture, session, SessionState::Running).await;
        let (mut interrupted, mut full) = fixture.call("repl_interrupt", json!({"session": session})).await;
        while full["outcome"] == "not_yet" {
            (interrupted, full) = fixture.call("repl_interrupt", json!({"session": session})).await;
        }
        let interrupted = ready(&interrupted);
        let (ended, _) = fixture.call("repl_eval", json!({"session": session, "code": codes[2]})).await;
        let said = format!("{failed}\n{interrupted}\n{ended}");
        match session {
            "python" => expect![[r#"
                Traceback (most recent call last):
                  File "<eval 1>", line 1, in <module>
                    1/0
                    ~^~
                ZeroDivisionError: division by zero
                [python #1: error, N ms]
                Traceback (most recent call last):
                  File "<eval 2>", line 1, in <module>
                    while True: pass
                KeyboardInterrupt
                [python #2: interrupted, N ms; the session is ready]
                [python #3: exited, N ms; repl_restart {"session": "python"} starts it again]
                The session ended: it exited with status 3."#]]
            .assert_eq(&said),
            "bash" => expect![[r#"
                out
                [stderr]
                err
                exit status 7
                [bash #4: error, N ms]
                [bash #5: interrupted, N ms; the session is ready]
                exit
                [bash #6: exited, N ms; repl_restart {"session": "bash"} starts it again]
                The session ended: it exited with status 3."#]]
            .assert_eq(&said),
            _ => expect![[r#"
                *** Exception: Prelude.head: empty list
                [ghci #7: error, N ms]
                [ghci #8: interrupted, N ms; the session is ready]
                Leaving GHCi.
                [ghci #9: exited, N ms; repl_restart {"session": "ghci"} starts it again]
                The session ended: it was asked to quit."#]]
            .assert_eq(&said),
        }
    }
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_and_waiting_give_what_is_new() {
    let fixture = Fixture::new();
    fixture.call("repl_start", json!({"profile": "bash"})).await;
    let code = "echo one; read -r x; echo \"two $x\" >&2; read -r x; echo three";
    fixture.check("repl_eval", json!({"code": code}), expect![[r#"
        one
        [main #1: waiting for input, running for N ms: `echo one; read -r x; echo "two $x" >&2; read -r x; echo thre…`; answer with repl_input {"eval": 1, "text": …}, or end it with repl_interrupt {"eval": 1}]"#]]).await;
    fixture.check("repl_input", json!({"text": "x\n"}), expect![[r#"
        two x
        [main #1: waiting for input, running for N ms: `echo one; read -r x; echo "two $x" >&2; read -r x; echo thre…`; 4 bytes of output were given before; answer with repl_input {"eval": 1, "text": …}, or end it with repl_interrupt {"eval": 1}]"#]]).await;
    fixture.call("repl_input", json!({"text": "y\n", "wait_ms": 0})).await;
    fixture
        .check(
            "repl_wait",
            json!({}),
            expect![[r#"
        three
        [main #1: done, N ms; 10 bytes of output were given before]"#]],
        )
        .await;
    // Another request after its end returns all output.
    fixture
        .check(
            "repl_wait",
            json!({}),
            expect![[r#"
        one
        three
        [stderr]
        two x
        [main #1: done, N ms]"#]],
        )
        .await;
    // So does an interrupt; and another caller, or a shell command, has not received anything.
    fixture.call("repl_eval", json!({"code": "echo one; read -r x"})).await;
    let mut command = fixture.caller(0);
    command.role = project::Role::Control;
    let (text, _) = crate::fixture::call(&fixture.tools, command, "repl_wait", &json!({})).await.expect("it waits");
    assert!(text.starts_with("one\n"), "{text}");
    let (text, _) = fixture.call("repl_interrupt", json!({})).await;
    assert!(!text.contains("one"), "{text}");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_cut_says_how_to_get_the_rest() {
    let fixture = Fixture::new();
    fixture.call("repl_start", json!({"session": "b", "profile": "bash"})).await;
    fixture
        .check(
            "repl_eval",
            json!({"session": "b", "code": "seq 1000", "max_bytes": 20}),
            expect![[r#"
        1
        2
        3
        4
        5
        6
        [… 3,876 bytes, 993 lines left out …]
        1000
        [b #1: done, N ms; 17 of 3,893 bytes of stdout shown; repl_read {"eval": 1} has the rest]"#]],
        )
        .await;
    // By its number alone, in any session.
    fixture
        .check(
            "repl_read",
            json!({"eval": 1, "max_bytes": 10}),
            expect![[r#"
        1
        2
        3
        4
        5
        [b: up to byte 37 of 3920; continue with `cursor` 37]"#]],
        )
        .await;
    fixture
        .check(
            "repl_read",
            json!({"eval": 1, "cursor": 30, "max_bytes": 10}),
            expect![[r#"

        3
        4
        5
        6
        7
        [b: up to byte 40 of 3920; continue with `cursor` 40]"#]],
        )
        .await;
    fixture
        .check(
            "repl_read",
            json!({"session": "b", "tail": true, "max_bytes": 10}),
            expect![[r#"

        999
        1000
        [b: up to byte 3920 of 3920; there is more before it]"#]],
        )
        .await;
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_core_of_the_toolset_is_small() {
    let fixture = Fixture::new();
    let core = ["repl_eval", "repl_interrupt", "repl_read", "repl_reload", "repl_start", "repl_wait"];
    let size = |name: &str| {
        let tool = fixture.tools.iter().find(|tool| tool.declaration().name == name).expect("a tool");
        let declaration = tool.declaration();
        name.len() + declaration.description.len() + declaration.input_schema.to_string().len()
    };
    let sizes: Vec<(&str, usize)> = core.iter().map(|name| (*name, size(name))).collect();
    let all: usize = sizes.iter().map(|(_, size)| size).sum();
    assert!(all <= 5000, "{all} bytes: {sizes:?}");
}

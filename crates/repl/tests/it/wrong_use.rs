//! Incorrect use of the session tools, and use beyond their limits.

use expect_test::expect;
use project::Limits;
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_use_says_what_to_do() {
    let mut fixture = Fixture::with(Limits { sessions: 2, queued_evaluations: 1, ..Limits::default() });
    fixture.check_that_there_is_no_session().await;
    fixture
        .check(
            "repl_wait",
            json!({"eval": 99}),
            expect![[r#"
        error: Unknown evaluation 99 in this worktree.
        repl_list shows the running evaluations; without `eval`, the last one is used."#]],
        )
        .await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "1", "session": "a b"}),
            expect![[r#"
        error: Invalid session name "a b".
        Use 1 to 64 letters, digits, `.`, `_` or `-` in `session`."#]],
        )
        .await;
    fixture
        .check(
            "repl_start",
            json!({"cwd": "nowhere"}),
            expect![[r#"
        error: The directory /w0/nowhere does not exist.
        Give a directory that exists in `cwd`."#]],
        )
        .await;
    fixture
        .check(
            "repl_start",
            json!({"cwd": "/dev/null"}),
            expect![[r#"
        error: /dev/null is not a directory.
        Give a directory that exists in `cwd`."#]],
        )
        .await;
    fixture
        .check(
            "repl_start",
            json!({"profile": "perl"}),
            expect![[r#"
        error: Unknown profile "perl"; available: bash, cabal, gdb, ghci, lua, node, python, r, ruby, sqlite3, stack, terminal.
        Name one of those in `profile`, or leave it out. A profile that was added to hob.toml counts after `hob stop`."#]],
        )
        .await;
    fixture
        .check(
            "repl_start",
            json!({"command": ["frobnicate"]}),
            expect![[r#"
        error: Unknown program "frobnicate".
        Also give the `profile` that drives it: ghci, cabal, stack, python, node or bash."#]],
        )
        .await;
    // The session that failed to start reports the same error to later evaluations.
    let broken = json!({"command": ["ghci", "-package", "no-such-package"]});
    for (tool, arguments) in [("repl_start", broken), ("repl_eval", json!({"code": "1"}))] {
        fixture
            .check(
                tool,
                arguments,
                expect![[r#"
        error: ghci -package no-such-package did not start: it exited with status 1 before its first prompt.
        GHCi, version 9.0.2: https://www.haskell.org/ghc/  :? for help
        <command line>: cannot satisfy -package no-such-package
            (use -v for more information)
        Fix that, then repeat the call; repl_read shows everything it printed."#]],
            )
            .await;
    }
    let path = std::mem::replace(&mut fixture.path, "/nowhere".to_owned());
    for ghci in [json!({"session": "other", "profile": "ghci"}), json!({"session": "other", "command": ["ghci"]})] {
        fixture
            .check(
                "repl_start",
                ghci,
                expect![[r#"
        error: The profile "ghci" needs the program "ghci", which is not in the PATH.
        Install it: apt-get install ghc (or install GHC with ghcup).
        Or name another `profile`."#]],
            )
            .await;
    }
    fixture.path = path;
    fixture
        .check(
            "repl_start",
            json!({"session": "mine", "profile": "ghci"}),
            expect!["[mine: ghci 9.0.2, idle, process N, in /w0]"],
        )
        .await;
    fixture
        .check(
            "repl_start",
            json!({"session": "mine", "profile": "python"}),
            expect![[r#"
                error: Session "mine" is already running, with profile `ghci`.
                Give another name in `session`, leave `profile` and `command` out to use this one, or end it first: repl_stop {"session": "mine"}."#]],
        )
        .await;
    fixture
        .check(
            "repl_eval",
            json!({"code": ":set prompt x", "session": "mine"}),
            expect![[r#"
        error: Hob detects the end of an evaluation by the session's prompt.
        Leave the prompt unchanged; it is never shown."#]],
        )
        .await;
    fixture
        .check(
            "repl_input",
            json!({"text": "x\n", "session": "mine"}),
            expect![[r#"
        error: No evaluation is running in session "mine" to read input.
        Give input in `stdin` of repl_eval, or while the evaluation runs."#]],
        )
        .await;
    fixture
        .check(
            "repl_input",
            json!({"session": "mine"}),
            expect![[r#"
        error: No input was given.
        Put a line in `text`, or set `eof`."#]],
        )
        .await;
    fixture
        .check(
            "repl_wait",
            json!({"session": "mine"}),
            expect![[r#"
        error: Session "mine" has evaluated nothing yet.
        Evaluate something with repl_eval."#]],
        )
        .await;
    fixture
        .check(
            "repl_read",
            json!({"session": "theirs"}),
            expect![[r#"
        error: Unknown session "theirs" in this worktree.
        Sessions: main, mine. repl_list has details.
        Or start it with repl_start or repl_eval."#]],
        )
        .await;
    let (text, _) = fixture.call_from(1, "repl_eval", json!({"code": "1", "session": "mine"})).await;
    expect![[r#"
        error: Session "mine" belongs to another worktree, /w0.
        Use another name in `session`, or leave it out for this worktree's own session."#]]
    .assert_eq(&text);
    // The default name in another worktree is another session.
    let (_, other) = fixture.call_from(1, "repl_eval", json!({"code": "y = 2"})).await;
    assert_eq!(other["status"], "done");
    fixture
        .check(
            "repl_start",
            json!({"session": "third"}),
            expect![[r#"
        error: 2 sessions are already running.
        End one with repl_stop and its `session`; repl_list shows which are idle.
        `limits.sessions` in hob.toml sets the limit."#]],
        )
        .await;
    for _ in 0..2 {
        fixture.call("repl_eval", json!({"code": "getLine", "session": "mine", "wait_ms": 1})).await;
    }
    fixture
        .check(
            "repl_eval",
            json!({"code": "1", "session": "mine"}),
            expect![[r#"
                error: Session "mine" already has 1 queued evaluations, the limit.
                Wait with repl_wait, or stop #3 with repl_interrupt {"eval": 3}; `limits.queued_evaluations` in hob.toml sets the limit."#]],
        )
        .await;
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_without_the_end_of_its_line_is_told() {
    let fixture = Fixture::new();
    fixture.call("repl_start", json!({"profile": "bash"})).await;
    let (_, waits) = fixture.call("repl_eval", json!({"code": "read line; echo \"<$line>\"", "wait_ms": 20000})).await;
    assert_eq!(waits["status"], "waiting_for_input");
    // The last evaluation has none behind it, although it waits itself.
    let (said, queued) = fixture.call("repl_eval", json!({"code": "echo next", "wait_ms": 50_000})).await;
    assert_eq!((&queued["status"], &queued["queue_depth"]), (&json!("queued"), &json!(0)), "{queued}");
    assert!(said.contains("#1 first: answer with repl_input {\"eval\": 1"), "{said}");
    let (_, first) = fixture.call("repl_wait", json!({"eval": waits["eval"], "wait_ms": 0})).await;
    assert_eq!(first["queue_depth"], 1, "{first}");
    fixture
        .check(
            "repl_input",
            json!({"text": "half", "wait_ms": 0}),
            expect![[r#"[main #1: 4 bytes given; without \n at its end, a program that reads lines still waits; repl_wait {"eval": 1} continues to wait]"#]],
        )
        .await;
    fixture
        .check(
            "repl_input",
            json!({"text": " and half\n"}),
            expect![[r#"
                <half and half>
                [main #1: done, N ms]"#]],
        )
        .await;
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_did_not_start_is_tried_again_in_the_environment_of_who_asks() {
    let mut fixture = Fixture::new();
    let command = ["sh", "-c", "case $PATH in *mended*) exec ghci -v1;; esac; echo not yet; exit 3"];
    fixture.call("repl_start", json!({"profile": "ghci", "command": command})).await;
    for (tool, arguments) in [("repl_eval", json!({"code": "1+1"})), ("repl_restart", json!({}))] {
        let (said, _) = fixture.call(tool, arguments).await;
        assert!(said.contains(" did not start: it exited with status 3 before its first prompt.\nnot yet\n"), "{said}");
    }
    fixture.path += ":/mended";
    let (said, _) = fixture.call("repl_eval", json!({"code": "1+1"})).await;
    assert!(said.starts_with("2\n[main #"), "{said}");
    assert!(
        said.ends_with("]\nIt had not started before (it exited with status 3 before its first prompt)."),
        "{said}"
    );
    // A session that started once is restarted with the same parameters.
    fixture.path = "/usr/bin:/bin".to_owned();
    fixture.call("repl_eval", json!({"code": ":quit"})).await;
    let (said, _) = fixture.call("repl_eval", json!({"code": "2+2"})).await;
    assert!(said.starts_with("4\n"), "{said}");
    fixture.repl.shutdown().await;
}

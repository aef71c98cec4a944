//! Calls as models first guess them: unambiguous ones are accepted, the others are answered with the right form.

use expect_test::expect;
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_near_miss_is_answered_with_the_argument_that_is_meant() {
    let fixture = Fixture::new();
    let calls = [
        ("repl_eval", json!({"cod": "1"})),
        ("repl_eval", json!({"code": "1", "waitMs": 1})),
        ("repl_eval", json!({"code": "1", "wait_ms": -1})),
        ("repl_read", json!({"tails": true})),
        ("repl_read", json!({"tail": "few"})),
        ("repl_read", json!({"cursor": "end"})),
        ("repl_restart", json!({"replay": "all"})),
        ("repl_query", json!({"kind": "type_at", "position": {"file": "A.hs", "line": 1, "col": 2}})),
    ];
    let mut said = String::new();
    for (tool, arguments) in calls {
        let (text, _) = fixture.call(tool, arguments).await;
        said += text.lines().next().expect("a line");
        said += "\n";
    }
    expect![[r#"
        repl_eval: unknown field `cod`: did you mean `code`?
        repl_eval: unknown field `waitMs`: did you mean `wait_ms`?
        repl_eval: `wait_ms`: invalid value: integer `-1`, expected a whole number, 0 or more
        repl_read: unknown field `tails`: did you mean `tail`?
        repl_read: `tail`: invalid value: string "few", expected true, false or a number of lines
        repl_read: `cursor`: invalid value: string "end", expected a non-negative whole number
        repl_restart: `replay`: unknown variant `all`, expected `none` or `definitions`
        repl_query: `position`: unknown field `col`: did you mean `column`?
    "#]]
    .assert_eq(&said);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_means_one_thing_is_taken() {
    let fixture = Fixture::new();
    let (text, _) = fixture
        .call("repl_eval", json!({"command": "seq 8", "name": "b", "profile": "shell", "timeout_ms": 20_000}))
        .await;
    assert!(text.starts_with("1\n2\n3\n"), "{text}");
    let (_, number) =
        fixture.call("repl_eval", json!({"expression": "echo 9", "session": "b", "timeout": 20_000})).await;
    assert_eq!(number["status"], "done", "{number}");
    fixture
        .check(
            "repl_read",
            json!({"name": "b", "tail": 3}),
            expect![[r#"
        7
        8
        9
        [b: up to byte 45 of 45; there is more before it]"#]],
        )
        .await;
    let (text, _) = fixture.call("repl_read", json!({"session": "b", "eval": "#2", "cursor": "0"})).await;
    assert!(text.starts_with("9\n[b: up to byte "), "{text}");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evaluation_chooses_the_profile_of_a_new_session() {
    let fixture = Fixture::new();
    fixture
        .check(
            "repl_eval",
            json!({"code": "print(6 * 7)", "profile": "python3"}),
            expect![[r#"
        42
        [main #1: done, N ms]"#]],
        )
        .await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "6 * 8", "profile": "python"}),
            expect![[r#"
        48
        [main #2: done, N ms]"#]],
        )
        .await;
    fixture.check("repl_eval", json!({"code": "echo x", "profile": "bash"}), expect![[r#"
        error: Session "main" is already running, with profile `python`.
        Give another name in `session`, leave `profile` and `command` out to use this one, or end it first: repl_stop {"session": "main"}."#]]).await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "echo x", "profile": "pyton"}),
            expect![[r#"
        error: Unknown profile "pyton"; available: bash, cabal, gdb, ghci, lua, node, python, r, ruby, sqlite3, stack, terminal.
        Did you mean "python"?
        Name one of those in `profile`, or leave it out. A profile that was added to hob.toml counts after `hob stop`."#]],
        )
        .await;
    fixture.call("repl_stop", json!({})).await;
    fixture
        .check(
            "repl_eval",
            json!({"code": "echo $((6 * 9))", "profile": "bash"}),
            expect![[r#"
        54
        [main #3: done, N ms]
        The session had ended (it was stopped); a new process was started, and earlier definitions are gone."#]],
        )
        .await;
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_profile_that_no_file_spoke_for_says_why_it_was_chosen() {
    let fixture = Fixture::new();
    std::fs::write(fixture.dirs[0].path().join("Cargo.toml"), "").expect("written");
    std::fs::write(fixture.dirs[0].path().join("build.sh"), "").expect("written");
    fixture.check("repl_eval", json!({"code": "6 * 7"}), expect![[r#"
        42
        [main #1: done, N ms]
        The session is new, with profile `python`, because hob has no REPL for a project with Cargo.toml; to use another profile, give `profile` with another `session`."#]]).await;
    let (text, _) = fixture.call("repl_start", json!({"session": "second"})).await;
    assert!(
        text.ends_with(
            "because hob has no REPL for a project with Cargo.toml; to use another profile, give `profile` with another `session`."
        ),
        "{text}"
    );
    fixture.repl.shutdown().await;
}

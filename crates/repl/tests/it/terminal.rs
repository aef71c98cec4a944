//! The tools for a program that needs a terminal.

use expect_test::expect;
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pager_is_read_by_its_screen() {
    let fixture = Fixture::new();
    std::fs::write(fixture.dirs[0].path().join("lines"), (1..500).map(|n| format!("line {n}\n")).collect::<String>())
        .expect("written");
    let request = json!({"profile": "terminal", "command": ["less", "lines"]});
    let (text, started) = fixture.call("repl_start", request).await;
    assert!(text.starts_with("line 1\nline 2\n"), "{text}");
    assert_eq!(started["profile"], "terminal");
    let (text, typed) = fixture.call("repl_input", json!({"text": "/line 99<Enter>"})).await;
    assert!(text.ends_with("\n[main #1: keys typed]"), "{text}");
    let (text, read) = fixture.call("repl_read", json!({"screen": true})).await;
    assert!(
        text.starts_with("line 99\nline 100\n")
            && text.ends_with("\n[main: screen of 100×30, cursor in row 30, column 2]"),
        "{text}"
    );
    assert_eq!(read["screen"], json!({"rows": 30, "columns": 100, "cursor_row": 30, "cursor_column": 2}));
    assert_eq!(typed["screen"], read["text"]);
    let (text, _) = fixture.call("repl_interrupt", json!({})).await;
    assert!(text.contains("\"<C-c>\""), "{text}");
    let (text, _) = fixture.call("repl_input", json!({"text": "q"})).await;
    assert!(text.ends_with("[main #2: keys typed; it exited with status 0]"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_sessions_have_no_screen_and_a_bad_size_is_refused() {
    let fixture = Fixture::new();
    fixture.call("repl_start", json!({"profile": "bash"})).await;
    fixture
        .check(
            "repl_read",
            json!({"screen": true}),
            expect![[r#"
                error: Session "main" has no screen.
                Start the program with the `profile` terminal of repl_start."#]],
        )
        .await;
    let mut profiles = repl::profile::Profiles::builtin();
    let mut add = |table: &str| {
        let text = format!("driver = \"terminal\"\ncommand = [\"top\"]\n[terminal]\n{table}");
        profiles.add("mine", &text, "hob.toml", repl::profile::Origin::User).map_err(|error| error.to_string())
    };
    assert_eq!(add("rows = 50"), Ok(()));
    expect![[
        r#"the profile "mine" in hob.toml is not usable: a terminal has 2 to 200 `rows`, and 10 to 500 `columns`"#
    ]]
    .assert_eq(&add("columns = 9").expect_err("too small"));
}

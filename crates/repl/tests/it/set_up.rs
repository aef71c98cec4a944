//! hob's own setup of a session must stay invisible.

use repl::session::SessionState;
use serde_json::json;

use crate::fixture::Fixture;

/// Text that only hob's own code contains.
const OURS: [&str; 9] =
    ["hob_", "hob-", "HOB_", "<hob>", "HOBPROMPT", "setEnv", "PROMPT_COMMAND", "GHC.Base", "prompt"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_set_up_shows_in_a_session() {
    let fixture = Fixture::new();
    let package = fixture.dirs[0].path().join("package");
    let config = fixture.dirs[0].path().join(".cabal");
    [&package, &config].iter().for_each(|dir| std::fs::create_dir(dir).expect("made"));
    // With GHC's own packages, cabal needs no package list.
    std::fs::write(config.join("config"), "").expect("written");
    let cabal = "cabal-version: 2.4\nname: p\nversion: 0.1\nlibrary\n  exposed-modules: P\n  build-depends: base\n  \
                 default-language: Haskell2010\n  default-extensions: NoImplicitPrelude, OverloadedStrings, StrictData\n  \
                 ghc-options: -Wall -Weverything -Wwarn\n";
    std::fs::write(package.join("p.cabal"), cabal).expect("written");
    std::fs::write(package.join("P.hs"), "module P where\n").expect("written");
    let sessions = [
        (
            "ghci",
            json!({"profile": "ghci"}),
            ["undefinedName", ":show bindings", ":history", ":show imports", "import Prelude\nhead []"],
        ),
        (
            "cabal",
            json!({"profile": "cabal", "cwd": "package", "wait_ms": 50_000}),
            ["undefinedName", ":show bindings", ":history", ":show imports", "let x = 1"],
        ),
        ("python", json!({"profile": "python"}), ["1/0", "dir()", "import sys; sys.argv", "open('nowhere')", "def f("]),
        ("bash", json!({"profile": "bash"}), ["history", "nosuchcommand", "echo 'open", "false", "caller; fc -l"]),
    ];
    for (name, mut start, codes) in sessions {
        start["session"] = json!(name);
        let (mut said, _) = fixture.call("repl_start", start.clone()).await;
        for code in codes {
            let (text, full) =
                fixture.call("repl_eval", json!({"session": name, "code": code, "wait_ms": 50_000})).await;
            said += &text;
            said += &full["exception"].to_string();
        }
        assert_eq!(fixture.handle(name).info().state, SessionState::Idle, "{said}");
        said += &fixture.call("repl_restart", json!({"session": name, "wait_ms": 50_000})).await.0;
        said += &fixture.call("repl_stop", json!({"session": name})).await.0;
        said += &fixture.call("repl_read", json!({"session": name, "max_bytes": 100_000})).await.0;
        for ours in OURS {
            let line = said.lines().find(|line| line.contains(ours));
            assert_eq!(line, None, "{name}: {ours:?} in {said}");
        }
    }
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_does_not_start_is_called_by_its_name() {
    let fixture = Fixture::new();
    let bin = fixture.dirs[0].path().join("bin");
    std::fs::create_dir(&bin).expect("made");
    let mut said = String::new();
    for (program, profile) in [("bash", "bash"), ("python3", "python"), ("ghci", "ghci")] {
        let file = bin.join(program);
        std::fs::write(&file, "#!/bin/sh\necho broken >&2\nexit 3\n").expect("written");
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
        let start = json!({"session": profile, "profile": profile, "env": {"PATH": bin}});
        said += &fixture.call("repl_start", start).await.0;
        said += "\n";
    }
    said += &fixture.call("repl_start", json!({"profile": "terminal", "command": ["echo", "hello"]})).await.0;
    expect_test::expect![[r#"
        error: bash did not start: it exited with status 3 before its first prompt.
        broken
        Fix that, then repeat the call; repl_read {"session": "bash"} shows everything it printed.
        error: Python did not start: it exited with status 3 before its first prompt.
        broken
        Fix that, then repeat the call; repl_read {"session": "python"} shows everything it printed.
        error: GHCi did not start: it exited with status 3 before its first prompt.
        broken
        Fix that, then repeat the call; repl_read {"session": "ghci"} shows everything it printed.
        error: echo hello does not wait for input: it exited with status 0.
        hello
        A session keeps a program that waits for input. Run this command in a session of the profile `bash`."#]]
    .assert_eq(&said);
    fixture.repl.shutdown().await;
}

/// R cuts the echo of a line that is longer than its terminal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_temporary_directory_adds_nothing_to_the_output() {
    let mut fixture = Fixture::new();
    let long = fixture.dirs[0].path().join("long".repeat(30));
    std::fs::create_dir(&long).expect("made");
    fixture.env.insert("TMPDIR".to_owned(), long.display().to_string());
    for (program, profile, code, output) in [
        ("R", "r", "x <- 40\nx + 2", "[1] 42\n"),
        ("lua", "lua", "x = 40\nprint(x + 2)", "42\n"),
        ("ruby", "ruby", "x = 40\nputs x + 2", "42\n"),
        ("sqlite3", "sqlite3", "select 40\n+ 2;", "42\n"),
    ] {
        if testkit::has_program(program) {
            let eval = json!({"session": profile, "profile": profile, "code": code});
            let (text, _) = fixture.call("repl_eval", eval).await;
            assert!(text.starts_with(output), "{profile}: {text}");
        }
    }
    fixture.repl.shutdown().await;
}

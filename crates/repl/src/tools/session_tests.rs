//! The tools about sessions, as their callers see them: each with its success and its failure.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use mcp::tool::{AnyTool, Context};
use process::Guard;
use project::{Caller, Limits, Role};
use serde_json::{Value, json};

use super::tools;
use crate::sessions::{Repl, ReplOptions};

/// The tools over fresh sessions.
struct House {
    tools: Vec<Arc<dyn AnyTool>>,
    repl: Arc<Repl>,
    /// Two worktrees.
    dirs: [tempfile::TempDir; 2],
    path: String,
}

impl House {
    fn new() -> House {
        House::with(Limits::default())
    }

    fn with(limits: Limits) -> House {
        let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let output_dir = Some(dirs[0].path().join("output"));
        let repl = Repl::new(ReplOptions { guard: Guard::Without, limits, output_dir, ..ReplOptions::default() });
        let path = std::env::var("PATH").expect("a PATH");
        House { tools: tools(repl.clone()), repl, dirs, path }
    }

    fn caller(&self, worktree: usize) -> Caller {
        let dir = self.dirs[worktree].path().to_owned();
        let env = [("PATH".to_owned(), self.path.clone()), ("HOME".to_owned(), dir.display().to_string())];
        Caller {
            connection: 1,
            role: Role::Mcp,
            pid: 1,
            cwd: dir.clone(),
            worktree: dir,
            env: BTreeMap::from(env),
            session: None,
            name: Some("tester".to_owned()),
            takeover: false,
            run: None,
            answers_lost: false,
            stands_in: None,
            profile: None,
        }
    }

    /// The text of the answer, or of the error after `error: `.
    async fn call_from(&self, worktree: usize, name: &str, arguments: Value) -> (String, Value) {
        let tool = self.tools.iter().find(|tool| tool.declaration().name == name).expect("a tool").clone();
        let arguments = serde_json::value::to_raw_value(&arguments).expect("JSON");
        let cx = Context::detached(Arc::new(self.caller(worktree)));
        let (text, full) = match tool.call(cx, Some(&arguments)).await {
            Ok(outcome) => {
                let text = outcome.content[0].as_text().expect("a text").to_owned();
                let full = outcome
                    .structured
                    .as_ref()
                    .map_or(Value::Null, |raw| serde_json::from_str(raw.get()).expect("JSON"));
                (text.clone(), full)
            }
            Err(error) => (format!("error: {error}"), Value::Null),
        };
        (self.plain(&text), full)
    }

    async fn call(&self, name: &str, arguments: Value) -> (String, Value) {
        self.call_from(0, name, arguments).await
    }

    async fn check(&self, name: &str, arguments: Value, expected: Expect) {
        expected.assert_eq(&self.call(name, arguments).await.0);
    }

    /// Without what differs from run to run.
    fn plain(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (n, dir) in self.dirs.iter().enumerate() {
            text = text.replace(&dir.path().display().to_string(), &format!("/w{n}"));
        }
        text = text.replace(&self.path, "$PATH");
        let number = |c: char| c.is_ascii_digit() || c == '.';
        for (before, after) in [(", ", " ms"), ("process ", ","), (", ", " MiB"), (", up ", " s"), ("idle ", " s")] {
            let mut rest = text.as_str();
            let mut plain = String::new();
            while let Some(at) = rest.find(before) {
                let (head, tail) = rest.split_at(at + before.len());
                plain.push_str(head);
                let digits = tail.find(|c| !number(c)).unwrap_or(tail.len());
                rest = tail;
                if digits > 0 && tail[digits..].starts_with(after) {
                    plain.push('N');
                    rest = &tail[digits..];
                }
            }
            text = plain + rest;
        }
        text
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_from_start_to_end() {
    let house = House::new();
    house.check("repl_list", json!({}), expect!["No sessions. repl_eval starts one."]).await;
    house
        .check(
            "repl_start",
            json!({"profile": "ghci"}),
            expect![[r#"
        GHCi, version 9.0.2: https://www.haskell.org/ghc/  :? for help
        [main: ghci 9.0.2, idle, process N, in /w0]"#]],
        )
        .await;
    house
        .check(
            "repl_start",
            json!({}),
            expect![[r#"
        GHCi, version 9.0.2: https://www.haskell.org/ghc/  :? for help
        [main: ghci 9.0.2, idle, process N, in /w0, it ran already]"#]],
        )
        .await;
    house
        .check(
            "repl_eval",
            json!({"code": ":t map"}),
            expect![[r#"
        map :: (a -> b) -> [a] -> [b]
        [main #1: done, N ms]"#]],
        )
        .await;
    house
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
    house
        .check(
            "repl_eval",
            json!({"code": "getLine", "stdin": "hello\n"}),
            expect![[r#"
        "hello"
        [main #3: done, N ms]"#]],
        )
        .await;
    house
        .check(
            "repl_eval",
            json!({"code": "getLine", "wait_ms": 10000}),
            expect!["[main #4: waiting for input, N ms; answer with repl_input, or repl_interrupt]"],
        )
        .await;
    house
        .check("repl_input", json!({"text": "hello\n"}), expect!["[main #4: 6 bytes given; repl_wait waits on]"])
        .await;
    house
        .check(
            "repl_wait",
            json!({}),
            expect![[r#"
        "hello"
        [main #4: done, N ms]"#]],
        )
        .await;
    house.check("repl_interrupt", json!({}), expect!["Nothing runs."]).await;
    let (_, running) = house.call("repl_eval", json!({"code": "sum [1..]", "wait_ms": 50})).await;
    assert_eq!(running["status"], "running");
    house
        .check(
            "repl_interrupt",
            json!({}),
            expect![[r#"
        Interrupted; the session is ready.
        Interrupted.
        [main #5: interrupted, N ms]"#]],
        )
        .await;
    house
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
                [main: up to 132 of 132]"#]],
        )
        .await;
    house
        .check(
            "repl_read",
            json!({"eval": 2}),
            expect![[r#"
                1
                2
                3
                4
                5
                [main: up to 103 of 132]"#]],
        )
        .await;
    house
        .check(
            "repl_read",
            json!({"grep": "hel"}),
            expect![[r#"
                GHCi, version 9.0.2: https://www.haskell.org/ghc/  :? for help
                "hello"
                "hello"
                [main: 3 lines, up to 132 of 132]"#]],
        )
        .await;
    house.check("repl_list", json!({}), expect!["main (ghci): idle, N MiB, up N s, idle N s, ends in 59 min"]).await;
    house
        .check(
            "repl_eval",
            json!({"code": "toUpper 'x'"}),
            expect![[r#"
        'X'
        [main #6: done, N ms]"#]],
        )
        .await;
    house
        .check(
            "repl_restart",
            json!({"replay": "definitions"}),
            expect![[r#"
                GHCi, version 9.0.2: https://www.haskell.org/ghc/  :? for help
                [main: ghci 9.0.2, idle, process N, in /w0]
                1 definitions were evaluated again."#]],
        )
        .await;
    house
        .check(
            "repl_eval",
            json!({"code": "(x, toUpper 'y')"}),
            expect![[r#"
                (5,'Y')
                [main #8: done, N ms]"#]],
        )
        .await;
    house
        .check(
            "repl_restart",
            json!({}),
            expect![[r#"
        GHCi, version 9.0.2: https://www.haskell.org/ghc/  :? for help
        [main: ghci 9.0.2, idle, process N, in /w0]
        Earlier definitions are gone."#]],
        )
        .await;
    house
        .check(
            "repl_eval",
            json!({"code": "x"}),
            expect![[r#"

                <interactive>:5:1: error: Variable not in scope: x
                [main #9: error, N ms]"#]],
        )
        .await;
    house.check("repl_stop", json!({}), expect!["[main: killed, it was stopped]"]).await;
    house
        .check(
            "repl_wait",
            json!({}),
            expect![[r#"

                <interactive>:5:1: error: Variable not in scope: x
                [main #9: error, N ms]"#]],
        )
        .await;
    house.check("repl_list", json!({}), expect!["main (ghci): killed, it was stopped, up N s"]).await;
    house
        .check(
            "repl_eval",
            json!({"code": "1+1"}),
            expect![[r#"
                2
                [main #10: done, N ms]
                The session had ended (it was stopped); a new process was started, and earlier definitions are gone."#]],
        )
        .await;
    house.repl.shutdown().await;
    assert!(!house.repl.busy());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_use_says_what_to_do() {
    let mut house = House::with(Limits { sessions: 2, queued_evaluations: 1, ..Limits::default() });
    house
        .check(
            "repl_wait",
            json!({}),
            expect![[r#"
        error: There is no session "main" in this worktree.
        Start one with repl_start or repl_eval."#]],
        )
        .await;
    house
        .check(
            "repl_wait",
            json!({"eval": 99}),
            expect![[r#"
        error: No session of this worktree remembers evaluation 99.
        Name a `session` to wait for its last evaluation; repl_list lists the sessions."#]],
        )
        .await;
    house
        .check(
            "repl_eval",
            json!({"code": "1", "session": "a b"}),
            expect![[r#"
        error: "a b" is no session name.
        Use 1 to 64 letters, digits, `.`, `_` or `-` in `session`."#]],
        )
        .await;
    house
        .check(
            "repl_start",
            json!({"cwd": "nowhere"}),
            expect![[r#"
        error: The directory /w0/nowhere does not exist.
        Give a directory that exists in `cwd`."#]],
        )
        .await;
    house
        .check(
            "repl_start",
            json!({"profile": "perl"}),
            expect![[r#"
        error: There is no profile "perl"; known are bash, cabal, ghci, python, stack.
        Name one of those in `profile`, or leave it out."#]],
        )
        .await;
    house
        .check(
            "repl_start",
            json!({"command": ["frobnicate"]}),
            expect![[r#"
        error: Nothing is known of the program "frobnicate".
        Name the `profile` that speaks to it too: ghci, cabal, stack, python or bash."#]],
        )
        .await;
    house
        .check(
            "repl_start",
            json!({"command": ["ghci", "-package", "no-such-package"]}),
            expect![[r#"
        error: ghci -package no-such-package did not start: it exited with status 1 before its first prompt.
        GHCi, version 9.0.2: https://www.haskell.org/ghc/  :? for help
        <command line>: cannot satisfy -package no-such-package
            (use -v for more information)
        Correct that and call repl_start again; repl_read shows everything it printed."#]],
        )
        .await;
    house.check("repl_eval", json!({"code": "1"}), expect![[r#"
        GHCi, version 9.0.2: https://www.haskell.org/ghc/  :? for help
        [stderr]
        <command line>: cannot satisfy -package no-such-package
            (use -v for more information)
        [main #1: exited; repl_restart starts anew]
        The session had ended (it exited with status 1 before its first prompt); a new process was started, and earlier definitions are gone.
        It never ran: it exited with status 1 before its first prompt."#]]).await;
    let path = std::mem::replace(&mut house.path, "/nowhere".to_owned());
    house
        .check(
            "repl_start",
            json!({"session": "other", "profile": "ghci"}),
            expect![[r#"
        error: The profile "ghci" needs the program "ghci", which is not in the PATH.
        Install it: apt-get install ghc (or install GHC with ghcup).
        Or name another `profile`."#]],
        )
        .await;
    house
        .check(
            "repl_start",
            json!({"session": "other", "command": ["ghci"]}),
            expect![[r#"
        error: The profile "ghci" needs the program "ghci", which is not in the PATH.
        Install it: apt-get install ghc (or install GHC with ghcup).
        Or name another `profile`."#]],
        )
        .await;
    house.path = path;
    house
        .check(
            "repl_start",
            json!({"session": "mine", "profile": "ghci"}),
            expect![[r#"
        GHCi, version 9.0.2: https://www.haskell.org/ghc/  :? for help
        [mine: ghci 9.0.2, idle, process N, in /w0]"#]],
        )
        .await;
    house
        .check(
            "repl_start",
            json!({"session": "mine", "profile": "python"}),
            expect![[r#"
        error: Session "mine" runs already, with profile "ghci".
        Use another name in `session`, or end that one with repl_stop first."#]],
        )
        .await;
    house
        .check(
            "repl_eval",
            json!({"code": ":set prompt x", "session": "mine"}),
            expect![[r#"
        error: The session's prompt tells when an evaluation has ended.
        Leave the prompt as it is; nobody sees it."#]],
        )
        .await;
    house
        .check(
            "repl_input",
            json!({"text": "x\n", "session": "mine"}),
            expect![[r#"
        error: Nothing runs in session "mine" that could read input.
        Give input in `stdin` of repl_eval, or while the evaluation runs."#]],
        )
        .await;
    house
        .check(
            "repl_input",
            json!({"session": "mine"}),
            expect![[r#"
        error: There is nothing to give.
        Put a line in `text`, or set `eof`."#]],
        )
        .await;
    house
        .check(
            "repl_wait",
            json!({"session": "mine"}),
            expect![[r#"
        error: Session "mine" has evaluated nothing yet.
        Evaluate something with repl_eval."#]],
        )
        .await;
    house
        .check(
            "repl_read",
            json!({"session": "theirs"}),
            expect![[r#"
        error: There is no session "theirs" in this worktree.
        There are main, mine; repl_list tells more.
        Or start it with repl_start or repl_eval."#]],
        )
        .await;
    let (text, _) = house.call_from(1, "repl_eval", json!({"code": "1", "session": "mine"})).await;
    expect![[r#"
        error: Session "mine" belongs to another worktree, /w0.
        Use another name in `session`, or leave it out for this worktree's own session."#]]
    .assert_eq(&text);
    // Another worktree's session of the default name is another session.
    let (_, other) = house.call_from(1, "repl_eval", json!({"code": "y = 2"})).await;
    assert_eq!(other["status"], "done");
    house
        .check(
            "repl_start",
            json!({"session": "third"}),
            expect![[r#"
        error: 2 sessions run already.
        End one with repl_stop; repl_list shows which are idle.
        `limits.sessions` in hob.toml sets the limit."#]],
        )
        .await;
    for _ in 0..2 {
        house.call("repl_eval", json!({"code": "getLine", "session": "mine", "wait_ms": 1})).await;
    }
    house
        .check(
            "repl_eval",
            json!({"code": "1", "session": "mine"}),
            expect![[r#"
        error: 1 evaluations wait in session "mine" already.
        Wait with repl_wait, or repl_interrupt what runs; `limits.queued_evaluations` in hob.toml sets the limit."#]],
        )
        .await;
    house.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_outlives_its_session_and_its_daemon() {
    let house = House::new();
    house.call("repl_eval", json!({"code": "putStrLn \"remember me\""})).await;
    house.repl.shutdown().await;
    let output_dir = Some(house.dirs[0].path().join("output"));
    let again = Repl::new(ReplOptions { guard: Guard::Without, output_dir, ..ReplOptions::default() });
    let house = House { tools: tools(again.clone()), repl: again, ..house };
    house
        .check(
            "repl_read",
            json!({"grep": "remember"}),
            expect![[r#"
                remember me
                [main: 1 lines, up to 89 of 89]"#]],
        )
        .await;
    house
        .check(
            "repl_wait",
            json!({}),
            expect![[r#"
        error: There is no session "main" in this worktree.
        Start one with repl_start or repl_eval."#]],
        )
        .await;
    assert!(Path::new(house.dirs[0].path()).exists());
}

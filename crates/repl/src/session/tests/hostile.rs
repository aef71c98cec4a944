//! Programs that read input, exit, crash, close their streams, leave children behind, or print text that looks like
//! hob's own.

use std::time::Instant;

use process::output::{Query, Stream as Logged};

use super::*;
use crate::result::Status;
use crate::session::SessionError;

async fn check_end(code: &str, status: Status, reason: &str) {
    let session = ghci();
    eval(&session, "1").await;
    let begun = Instant::now();
    let result = eval(&session, code).await;
    let took = begun.elapsed();
    // On a busy machine a program that has closed a stream may be killed before it exits.
    let closed = code.contains("hClose") && result.status == Status::Killed;
    assert!(result.status == status || closed, "{code}: {result:?}");
    assert!(session.info().reason.as_deref() == Some(reason) || closed, "{code}: {result:?}");
    println!("{code}: {} after {took:?}", result.status.name());
    // Ended sessions stay readable and say so.
    assert_eq!(session.wait(Some(result.eval), LONG, 1000).await.expect("remembered").status, result.status);
    let refused = session.eval(EvalRequest::new("1")).await.expect_err("it is dead");
    assert!(matches!(refused, SessionError::Ended { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends() {
    let endings = [
        (":quit", Status::Exited, "it was asked to quit"),
        ("System.IO.hClose System.IO.stdout", Status::Exited, "it exited with status 1"),
        ("System.IO.hClose System.IO.stderr", Status::Exited, "it exited with status 1"),
        ("System.Posix.Process.exitImmediately (System.Exit.ExitFailure 7)", Status::Exited, "it exited with status 7"),
        (
            "Foreign.Storable.peek (Foreign.Ptr.nullPtr :: Foreign.Ptr.Ptr Int)",
            Status::Crashed,
            "it crashed with signal 11 (SIGSEGV)",
        ),
        (
            "System.Posix.Signals.signalProcess System.Posix.Signals.sigKILL =<< System.Posix.Process.getProcessID",
            Status::Killed,
            "another process killed it (signal 9, SIGKILL)",
        ),
        // Closed below the handles, too: GHCi can no longer print anything.
        ("System.Posix.IO.closeFd 2", Status::Exited, "it exited with status 1"),
        ("System.Posix.IO.closeFd 1 >> System.Posix.IO.closeFd 2", Status::Exited, "it exited with status 1"),
    ];
    let mut checks = tokio::task::JoinSet::new();
    for (code, status, reason) in endings {
        checks.spawn(check_end(code, status, reason));
    }
    while let Some(checked) = checks.join_next().await {
        checked.expect("it was checked");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_its_input_ends_ghci_after_the_evaluation() {
    let session = ghci();
    let result = eval(&session, "System.IO.hClose System.IO.stdin").await;
    assert_eq!(result.status, Status::Done);
    until(&session, |state| state == SessionState::Exited).await;
    assert_eq!(session.info().reason.as_deref(), Some("it exited with status 0"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_in_code_is_only_an_exception() {
    let session = ghci();
    let result = eval(&session, "System.Exit.exitWith (System.Exit.ExitFailure 3)").await;
    assert_eq!((result.status, result.stderr.as_str()), (Status::Error, "*** Exception: ExitFailure 3\n"));
    assert_eq!(line(&eval(&session, "1+1").await), "done | \"2\\n\" | \"\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_is_asked_for_and_given() {
    let session = ghci();
    eval(&session, "1").await;
    let begun = Instant::now();
    let waiting = eval(&session, "do { a <- getLine; b <- getLine; putStrLn (b ++ a) }").await;
    println!("waiting for input known after {:?}", begun.elapsed());
    assert_eq!(waiting.status, Status::WaitingForInput);
    session.input("one\n".to_owned(), false).await.expect("it reads");
    let still = session.wait(None, Duration::from_secs(5), 1000).await.expect("an answer");
    assert_eq!(still.status, Status::WaitingForInput);
    session.input("two\n".to_owned(), false).await.expect("it reads");
    let done = session.wait(None, LONG, 1000).await.expect("an answer");
    assert_eq!(line(&done), "done | \"twoone\\n\" | \"\"");
    let refused = session.input("x\n".to_owned(), false).await.expect_err("nothing reads");
    assert!(matches!(refused, SessionError::NothingRuns { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_seen_before_its_answer() {
    let session = ghci();
    eval(&session, ":set +t\nlet it2 = 5\n40 + it2").await;
    let waiting = eval(&session, "do { putStr \"Name? \"; n <- getLine; putStrLn (n ++ show it) }").await;
    assert_eq!(line(&waiting), "waiting_for_input | \"Name? \" | \"\"");
    session.input("me\n".to_owned(), false).await.expect("it reads");
    let done = session.wait(None, LONG, 1000).await.expect("an answer");
    assert_eq!(line(&done), "done | \"Name? me45\\nit :: ()\\n\" | \"\"");
    assert_eq!(
        eval(&session, "System.IO.hGetBuffering System.IO.stdout").await.stdout.replace("GHC.Internal.", "GHC."),
        "LineBuffering\nit :: GHC.IO.Handle.Types.BufferMode\n"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_is_given_beforehand_and_the_rest_is_no_code() {
    let session = ghci();
    let request =
        |code: &str, stdin: &str| EvalRequest { stdin: Some(stdin.to_owned()), wait: LONG, ..EvalRequest::new(code) };
    let result = session.eval(request("getLine", "hello\nputStrLn \"never\"\n")).await.expect("an answer");
    assert_eq!(line(&result), "done | \"\\\"hello\\\"\\n\" | \"\"");
    assert_eq!(result.notes, ["The program did not read 17 bytes of its input."]);
    // The rest of a partly read line runs as code; it cannot be taken back, but it is reported and kept separate.
    let result = session.eval(request("getChar", "x1 + 1\n")).await.expect("an answer");
    assert_eq!(line(&result), "done | \"'x'\" | \"\"".replace("\\n", "").replace("'x'", "'x'\\n"));
    assert_eq!(line(&eval(&session, "2+2").await), "done | \"4\\n\" | \"\"");
    let request =
        EvalRequest { stdin: Some("a\nb\n".to_owned()), wait: LONG, ..EvalRequest::new("mapM (const getLine) [1,2]") };
    assert_eq!(line(&session.eval(request).await.expect("an answer")), "done | \"[\\\"a\\\",\\\"b\\\"]\\n\" | \"\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_input_ends_ghci_after_the_evaluation() {
    let session = ghci();
    let waiting = eval(&session, "getContents >>= putStr . map Data.Char.toUpper").await;
    assert_eq!(waiting.status, Status::WaitingForInput);
    session.input("abc\n".to_owned(), true).await.expect("it reads");
    let result = session.wait(None, LONG, 1000).await.expect("an answer");
    assert!(result.stdout.starts_with("ABC\n"), "{result:?}");
    until(&session, |state| !state.is_alive()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_outlives_and_a_thread_that_prints_later() {
    let session = ghci();
    eval(&session, "import Control.Concurrent\nimport System.Process\nimport System.IO").await;
    let child = eval(&session, "spawnCommand \"sleep 1000\" >> return ()").await;
    assert_eq!(line(&child), "done | \"\" | \"\"");
    let thread =
        "forkIO (threadDelay 100000 >> putStrLn \"late\" >> hPutStrLn stderr \"late too\") >> putStrLn \"now\"";
    assert!(eval(&session, thread).await.stdout.contains("now\n"));
    // Waits for a value, not for a time: the log shows when the thread has printed.
    let mut end = session.output().end();
    let printed =
        |text: &str| String::from_utf8_lossy(&session.output().read_blocking(&Query::default()).bytes()).contains(text);
    while !(printed("late\n") && printed("late too\n")) {
        tokio::time::timeout(LONG, end.changed()).await.expect("it prints").expect("the log lives");
    }
    let next = eval(&session, "1+1").await;
    assert_eq!(line(&next), "done | \"2\\n\" | \"\"");
    let between = next.between.expect("the late output");
    assert_eq!((between.stdout.as_str(), between.stderr.as_str()), ("late\n", "late too\n"));
    assert_eq!(eval(&session, "2").await.between, None);
    assert_eq!(eval(&session, ":quit").await.status, Status::Exited);
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_is_kept_byte_for_byte() {
    let session = ghci();
    eval(
        &session,
        "import System.IO\nimport qualified Data.ByteString as B\nimport qualified Data.ByteString.Char8 as C",
    )
    .await;
    let cases: [(&str, Vec<u8>); 7] = [
        ("B.putStr (B.pack [0..255])", (0..=255).collect()),
        ("putStr \"no newline\"", b"no newline".to_vec()),
        (
            "putStr \"0123456789abcdef0123456789abcdef 12 Prelude\\n0123456789abcdef\"",
            b"0123456789abcdef0123456789abcdef 12 Prelude\n0123456789abcdef".to_vec(),
        ),
        ("B.putStr (B.replicate 1000000 65)", vec![65; 1_000_000]),
        ("putStr (replicate 1000000 'y')", vec![b'y'; 1_000_000]),
        ("B.putStr (B.pack [0xff, 0xfe, 0xc3, 0x28, 0, 10, 13, 10])", vec![0xff, 0xfe, 0xc3, 0x28, 0, 10, 13, 10]),
        (
            "hSetEncoding stdout utf16le >> hSetNewlineMode stdout (NewlineMode CRLF CRLF) >> putStr \"a\\n\"",
            b"a\0\r\0\n\0".to_vec(),
        ),
    ];
    for (code, expected) in cases {
        let result = eval(&session, code).await;
        assert_eq!(result.status, Status::Done, "{code}: {}", result.stderr);
        let query = Query { eval: Some(Some(result.eval)), max_bytes: 4 << 20, ..Query::default() };
        let slice = session.output().read_blocking(&query);
        assert!(slice.bytes_of(Logged::Stdout) == expected, "{code}");
        assert_eq!(slice.bytes_of(Logged::Stderr), b"", "{code}");
    }
    let long = format!("length {:?}", "λ".repeat(500_000));
    eval(&session, "hSetEncoding stdout utf8 >> hSetNewlineMode stdout noNewlineTranslation").await;
    assert_eq!(line(&eval(&session, &long).await), "done | \"500000\\n\" | \"\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_breaks_other_tools() {
    let session = ghci();
    for code in
        [":set -XRebindableSyntax -XOverloadedStrings", ":set -XNoImplicitPrelude", ":module", "putStrLn = undefined"]
    {
        eval(&session, code).await;
    }
    eval(&session, ":set -XNoRebindableSyntax -XImplicitPrelude\n:module +Prelude").await;
    assert_eq!(line(&eval(&session, "Prelude.putStrLn \"ok\"").await), "done | \"ok\\n\" | \"\"");
    let refused = session.eval(EvalRequest::new(":set prompt \"> \"")).await.expect_err("it would break the session");
    assert!(matches!(refused, SessionError::Refused(_)));
    assert_eq!(line(&eval(&session, ":! cat").await), "done | \"\" | \"\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_load_gets_prelude_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let functions: String = (0..3000).map(|n| format!("f{n} :: Int -> Int\nf{n} x = x + {n}\n")).collect();
    std::fs::write(directory.path().join("Big.hs"), format!("module Big where\n{functions}")).expect("written");
    let session = ghci();
    eval(&session, "1").await;
    let load = format!(":load {}/Big.hs", directory.path().display());
    let running =
        session.eval(EvalRequest { wait: Duration::from_millis(300), ..EvalRequest::new(load) }).await.expect("taken");
    assert_eq!(running.status, Status::Running);
    let report = session.interrupt(1000).await.expect("an answer");
    let ended = report.eval.expect("it ran");
    assert_eq!(ended.status, Status::Interrupted, "{ended:?}");
    assert!(ended.notes.iter().any(|note| note.contains("Prelude was restored")), "{ended:?}");
    assert_eq!(line(&eval(&session, "1+1").await), "done | \"2\\n\" | \"\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_floods_spoils_nothing_but_its_own_output() {
    let session = ghci();
    eval(&session, "import Control.Concurrent\nimport Control.Monad\nimport System.IO").await;
    eval(&session, "flood <- forkIO (forever (hPutStrLn stderr (replicate 200 'x') >> threadDelay 200))").await;
    for n in 0..20 {
        assert_eq!(eval(&session, &format!("putStrLn \"{n}\"")).await.stdout, format!("{n}\n"));
    }
    let endless = EvalRequest { wait: Duration::from_millis(50), ..EvalRequest::new("forever (threadDelay 1000)") };
    assert_eq!(session.eval(endless).await.expect("taken").status, Status::Running);
    // Standard error is unbuffered, so the flood may tear GHCi's own message about it; but the evaluation ends.
    let report = session.interrupt(100).await.expect("an answer");
    let ended = report.eval.expect("it ran").status;
    assert!(matches!(ended, Status::Interrupted | Status::Done), "{ended:?}, {:?}", report.outcome);
    assert_eq!(eval(&session, "killThread flood >> putStrLn \"dried\"").await.stdout, "dried\n");
    eval(&session, "1").await;
    assert_eq!(line(&eval(&session, "1+1").await), "done | \"2\\n\" | \"\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_code_keeps_the_session_in_step() {
    let session = ghci();
    for code in [
        ":load nowhere.hs",
        ":module NoSuch",
        "import No.Such",
        ":{\nlet x = 1",
        "let y = (1 +",
        "{- open comment",
        "\"open string",
        "case () of\n  () -> 1",
        ":def hello (\\_ -> return \"1+1\")\n:hello",
        ":cmd return \"1+1\\n2+2\"",
        ":set +s +t\n1\n:unset +s +t",
        "main = putStrLn \"from main\"\n:main",
        ":t",
        ":",
        ":unknown",
        "\u{feff}1",
        "1\r\n2\r\n",
        "\t\n\n",
        "putStrLn \"λ → ∀\"",
        ":! printf 'no newline'",
        ":script /dev/null",
        ":set args a b\nSystem.Environment.getArgs",
    ] {
        // Whatever the result, the next one is right.
        let odd = session.eval(EvalRequest { wait: LONG, ..EvalRequest::new(code) }).await;
        if let Ok(result) = &odd {
            assert!(result.status.is_final(), "{code:?}: {result:?}");
        }
        assert_eq!(line(&eval(&session, "2*3").await), "done | \"6\\n\" | \"\"", "after {code:?}: {odd:?}");
    }
}

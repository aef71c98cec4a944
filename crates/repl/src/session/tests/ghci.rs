//! GHCi: typical use by agents, and programs that interfere with it.

use super::*;
use crate::result::{Completion, Status};
use crate::session::InterruptOutcome;
use expect_test::{Expect, expect};

async fn check(session: &Handle, code: &str, expected: Expect) {
    expected.assert_eq(&line(&eval(session, code).await));
}

#[tokio::test]
async fn it_evaluates() {
    let session = ghci();
    check(&session, "1+1", expect![[r#"done | "2\n" | """#]]).await;
    check(&session, ":t map", expect![[r#"done | "map :: (a -> b) -> [a] -> [b]\n" | """#]]).await;
    check(&session, "putStr \"no newline\"", expect![[r#"done | "no newline" | """#]]).await;
    check(
        &session,
        "import System.IO\nhPutStrLn stderr \"to stderr\" >> putStrLn \"to stdout\"",
        expect![[r#"done | "to stdout\n" | "to stderr\n""#]],
    )
    .await;
    check(&session, "1 `div` 0", expect![[r#"error | "" | "*** Exception: divide by zero\n""#]]).await;
    // The wording differs by version.
    let refused = eval(&session, "1 + True").await;
    assert!(refused.status == Status::Error && refused.stderr.contains("Num Bool"), "{refused:?}");
    check(&session, "f :: Int -> Int\nf x =\n  x * 2\nf 21", expect![[r#"done | "42\n" | """#]]).await;
    let refused = eval(&session, "undefinedName\nputStrLn \"never\"").await;
    assert_eq!((refused.status, refused.stdout.as_str()), (Status::Error, ""));
    assert!(refused.stderr.contains("Variable not in scope: undefinedName"), "{refused:?}");
    check(&session, "f 1", expect![[r#"done | "2\n" | """#]]).await;
    session.stop("the test is over").await;
}

#[tokio::test]
async fn an_interrupt_is_seen_in_a_line_that_the_program_began() {
    let session = ghci();
    eval(&session, "import System.IO\nimport Control.Concurrent").await;
    let request = EvalRequest::new("hPutStr stderr \"10 %, \" >> hPutStrLn stdout \"begun\" >> threadDelay 1000000000");
    let mut printed = session.eval(EvalRequest { wait: Duration::ZERO, ..request }).await.expect("taken");
    while !printed.stdout.contains("begun") {
        printed = session.wait(None, Duration::from_millis(50), 1000).await.expect("it runs");
    }
    let report = session.interrupt(1000).await.expect("an answer");
    assert_eq!(report.outcome, InterruptOutcome::Interrupted);
    let ended = line(&report.eval.expect("it ran"));
    expect![[r#"interrupted | "begun\n" | "10 %, Interrupted.\n""#]].assert_eq(&ended);
    let said = "done | \"\" | \"Transfer Interrupted.\\n\"";
    assert_eq!(line(&eval(&session, "hPutStrLn stderr \"Transfer Interrupted.\"").await), said, "nobody asked for it");
    session.stop("the test is over").await;
}

fn ghci_with(flags: &[&str]) -> Handle {
    let command: Vec<&str> = ["ghci", "-ferror-spans"].iter().chain(flags).copied().collect();
    start(setup(&command, Path::new("/"), Arc::new(Ghci)), log()).expect("ghci is installed")
}

async fn check_start(flags: &[&str], completion: Completion, code: &str, expected: Expect) {
    let session = ghci_with(flags);
    let mut text = String::new();
    for code in [code, "-- nothing", ":! echo out; echo err >&2"] {
        text += &line(&eval(&session, code).await);
        text.push('\n');
    }
    assert_eq!(session.info().completion, completion, "{flags:?}");
    let endless = session.eval(EvalRequest { wait: Duration::ZERO, ..EvalRequest::new(":! sleep 100") });
    assert_eq!(endless.await.expect("taken").status.name(), "running");
    let interrupted = session.interrupt(1000).await.expect("an answer");
    text += &line(&interrupted.eval.expect("it ran"));
    text.push('\n');
    text += &line(&eval(&session, ":! echo still here").await);
    expected.assert_eq(&text);
    session.stop("the test is over").await;
}

#[tokio::test]
async fn what_a_program_prints_is_told_from_what_ghci_says_whatever_extensions_are_on() {
    for flags in [&[][..], &["-XMonoLocalBinds"], &["-XTypeFamilies", "-XGADTs"], &["-XStrict"], &["-Wall", "-Werror"]]
    {
        let session = ghci_with(flags);
        for printed in ["*** Exception: x", "<interactive>:1:1: error: x"] {
            let code = format!("System.IO.hPutStrLn System.IO.stderr {printed:?}");
            let said = line(&eval(&session, &code).await);
            assert_eq!(said, format!("done | \"\" | {:?}", format!("{printed}\n")), "{flags:?}");
        }
        let failed = line(&eval(&session, "error \"x\"").await);
        assert!(failed.starts_with("error | "), "{flags:?}: {failed}");
        session.stop("the test is over").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_starts_whatever_the_flags() {
    // In the last case, base shows only its public modules.
    let part = "base (Prelude,System.IO,Foreign.C.String,System.Environment,Control.Exception)";
    for flags in [
        &["-XRebindableSyntax", "-XOverloadedStrings", "-XOverloadedLists"][..],
        &["-XNoImplicitPrelude"],
        &["-hide-all-packages", "-package", part],
    ] {
        check_start(
            flags,
            Completion::Exact,
            "'x'",
            expect![[r#"
            done | "'x'\n" | ""
            done | "" | ""
            done | "out\n" | "err\n"
            interrupted | "" | "Interrupted.\n"
            done | "still here\n" | """#]],
        )
        .await;
    }
    // Without base a marker cannot be printed.
    check_start(
        &["-hide-all-packages"],
        Completion::Marker,
        ":show packages",
        expect![[r#"
        done | "active package flags: none\n" | ""
        done | "" | ""
        done | "out\n" | "err\n"
        interrupted | "" | "Interrupted.\n"
        done | "still here\n" | """#]],
    )
    .await;
}

/// The prompt's parts must not add instances: each further instance in GHC's memory slows down every evaluation, and
/// shows in answers and errors. Capturing GHCi's messages needs the types of encoders, and with them those of bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_prompt_brings_no_instances_along_but_those_of_bytes() {
    let mut plain = std::process::Command::new("ghci")
        .args(["-ignore-dot-ghci", "-v0"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("GHCi");
    std::io::Write::write_all(&mut plain.stdin.take().expect("piped"), b":info! Num\n").expect("it reads");
    let plain = String::from_utf8(plain.wait_with_output().expect("it ends").stdout).expect("UTF-8");
    assert!(plain.contains("instance Num Double"), "{plain}");
    let here = eval(&ghci(), ":info! Num").await.stdout;
    // GHC lists them in any order.
    let sorted = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<String>>();
    let mut expected = sorted(&plain);
    expected.extend(["8", "16", "32", "64"].map(|n| format!("instance Num GHC.Word.Word{n} -- Defined in ‘GHC.Word’")));
    assert_eq!(sorted(&here), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_at_the_limit_of_its_heap_goes_on() {
    let session = ghci_with(&["+RTS", "-M200m", "-A16m", "-RTS"]);
    let full = eval(&session, "xs = [1..] :: [Int]\nxs !! 1000000000").await;
    assert!(full.stderr.contains("heap overflow"), "{full:?}");
    let mut right = 0;
    for _ in 0..40 {
        match &*line(&eval(&session, "1+1").await) {
            "done | \"2\\n\" | \"\"" => right += 1,
            // A collection during an evaluation may reach the limit.
            other => assert_eq!(other, "error | \"\" | \"*** Exception: heap overflow\\n\""),
        }
    }
    assert!(right >= 20, "{right}");
    // Earlier definitions still exist.
    for attempt in 0.. {
        match &*line(&eval(&session, "head xs").await) {
            "done | \"1\\n\" | \"\"" => break,
            other => assert!(other.contains("heap overflow") && attempt < 5, "{other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_may_have_any_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let session = ghci();
    for name in ["Größe", "Ωmega", "Ċ"] {
        let path = directory.path().join(format!("{name}.hs"));
        std::fs::write(&path, format!("module {name} where\nhere = 7\n")).expect("written");
        eval(&session, &format!(":load {}", path.display())).await;
        assert_eq!(line(&eval(&session, "here").await), "done | \"7\\n\" | \"\"", "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evaluation_that_stops_at_a_breakpoint_has_not_ended() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("Stops.hs"), "module Stops where\ntwice :: Int -> Int\ntwice n = n * 2\n")
        .expect("written");
    let session = ghci();
    eval(&session, &format!(":load {}/Stops.hs", directory.path().display())).await;
    assert_eq!(eval(&session, ":break twice").await.status, Status::Done);
    let stopped = eval(&session, "twice 4\nputStrLn \"never\"").await;
    assert_eq!(stopped.status, Status::Interrupted, "{stopped:?}");
    assert!(stopped.stdout.starts_with("Stopped in Stops.twice, ") && !stopped.stdout.contains("never"), "{stopped:?}");
    let notes = stopped.notes.join("\n");
    assert!(notes.contains("1 more piece of the code did not run"), "{notes}");
    assert!(notes.contains("stopped it at a breakpoint (Stops.twice, ") && notes.contains(":continue"), "{notes}");
    assert_eq!(eval(&session, "n + 1").await.stdout, "5\n", "The local names at the breakpoint are in scope");
    assert_eq!(line(&eval(&session, ":continue").await), "done | \"8\\n\" | \"\"");
    // A program's own text about a breakpoint does not count.
    let said = eval(&session, "putStrLn \"Stopped in Stops.twice, Stops.hs:3:11-15\\n_result :: Int = _\"").await;
    assert_eq!((said.status, said.notes), (Status::Done, Vec::new()));
    assert_eq!(eval(&session, ":step twice 3").await.status, Status::Interrupted);
    assert_eq!(eval(&session, ":abandon").await.status, Status::Done);
    assert_eq!(line(&eval(&session, ":delete *\ntwice 5").await), "done | \"10\\n\" | \"\"");
}

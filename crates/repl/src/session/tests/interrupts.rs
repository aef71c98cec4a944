//! Interrupts of real programs that clean up, resist, leave something behind, or read.

use std::time::Instant;

use super::ends::bash;
use super::*;
use crate::result::Status;
use crate::session::{InterruptOutcome, InterruptReport, SessionError};

/// Returns a ready Python session.
pub(super) fn python() -> Handle {
    let profiles = crate::profile::Profiles::builtin();
    let env = vec![("PATH".to_owned(), std::env::var("PATH").expect("a PATH"))];
    let launch = profiles.get("python").expect("built in").launch(env, "/".into(), 8 << 30).expect("it is there");
    let setup = SessionSpec { launch, ..setup(&["python3"], Path::new("/"), Arc::new(crate::adapter::python::Python)) };
    start(setup, log()).expect("it starts")
}

/// Starts an evaluation, and returns when it has printed `word`.
async fn start_evaluation(session: &Handle, code: &str, word: &str) -> u64 {
    let running = session.eval(EvalRequest { wait: Duration::ZERO, ..EvalRequest::new(code) }).await.expect("taken");
    let mut end = session.output().end();
    let printed = || {
        session.output().read_blocking(&process::output::Query { eval: Some(Some(running.eval)), ..Default::default() })
    };
    while !String::from_utf8_lossy(&printed().bytes()).contains(word) {
        tokio::time::timeout(LONG, end.changed()).await.expect("it prints").expect("the log lives");
    }
    running.eval
}

async fn interrupted(session: &Handle) -> InterruptReport {
    session.interrupt(1000).await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cleanup_comes_to_its_end() {
    let (ghci, python, bash) = (ghci(), python(), bash());
    eval(&ghci, "import Control.Concurrent\nimport Control.Exception").await;
    eval(&python, "import time").await;
    let cleaned = async |session: &Handle, code: &str, expected: Status| {
        start_evaluation(session, code, "begun").await;
        let report = interrupted(session).await;
        let ended = report.eval.expect("it ran");
        assert_eq!(ended.status, expected, "{ended:?}");
        assert_eq!(ended.stdout, "begun\ncleaned\n", "{ended:?}");
        assert!(report.took >= Duration::from_millis(1500), "{:?}", report.took);
    };
    tokio::join!(
        async {
            let code = "bracket_ (return ()) (threadDelay 1500000 >> putStrLn \"cleaned\") (putStrLn \"begun\" >> threadDelay 100000000)";
            cleaned(&ghci, code, Status::Interrupted).await;
            assert_eq!(line(&eval(&ghci, "1+1").await), "done | \"2\\n\" | \"\"");
        },
        async {
            let code =
                "try:\n    print('begun')\n    time.sleep(1000)\nfinally:\n    time.sleep(1.5)\n    print('cleaned')";
            cleaned(&python, code, Status::Interrupted).await;
            assert_eq!(eval(&python, "1+1").await.value.as_deref(), Some("2"));
        },
        async {
            // The shell runs its trap and continues, as such code specifies.
            let code = "trap 'sleep 1.5; echo cleaned' INT; echo begun; sleep 1000; trap - INT";
            cleaned(&bash, code, Status::Done).await;
            assert_eq!(line(&eval(&bash, "echo 2").await), "done | \"2\\n\" | \"\"");
        }
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collection_of_garbage_is_waited_for() {
    let session = ghci();
    eval(&session, "import Control.Monad\nimport qualified Data.Map.Strict as M\nimport System.Mem").await;
    let built =
        eval(&session, "m = M.fromList [(n, show n) | n <- [1 .. 400000 :: Int]]\nsum (map length (M.elems m))").await;
    assert_eq!(built.status, Status::Done, "{built:?}");
    for n in 0..2 {
        start_evaluation(&session, "forever (performMajorGC >> putStrLn \"collected\")", "collected").await;
        let report = interrupted(&session).await;
        assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{report:?}");
        assert_eq!(line(&eval(&session, &format!("{n}+1")).await), format!("done | \"{}\\n\" | \"\"", n + 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_catches_everything_is_told_as_what_it_is() {
    let session = ghci();
    eval(&session, "import Control.Exception\nimport Control.Monad").await;
    eval(&session, "burn :: Int -> IO ()\nburn n = (evaluate (sum [1 .. 50000 + n]) >> return ()) `catch` \\e -> const (return ()) (e :: SomeException)").await;
    let running = start_evaluation(&session, "putStrLn \"begun\" >> mapM_ burn (cycle [1 .. 100])", "begun").await;
    let first = interrupted(&session).await;
    assert_eq!(first.outcome, InterruptOutcome::Uninterruptible, "{first:?}");
    assert_eq!(first.eval.expect("it runs").status, Status::Running);
    // Interrupted again, GHCi abandons the evaluation and returns to its prompt; the evaluation continues.
    let second = interrupted(&session).await;
    assert_eq!(second.outcome, InterruptOutcome::Uninterruptible, "{second:?}");
    assert_eq!(session.info().state, SessionState::Uninterruptible);
    let still = session.wait(Some(running), Duration::ZERO, 100).await.expect("remembered");
    assert_eq!(still.status, Status::Running, "{still:?}");
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_it_leaves_behind_is_told() {
    let session = python();
    eval(&session, "import threading, time, subprocess").await;
    let code = "over = threading.Event()\ndef burn():\n    while not over.is_set(): pass\n\
                threading.Thread(target=burn, daemon=True).start()\nprint('begun')\ntime.sleep(1000)";
    start_evaluation(&session, code, "begun").await;
    let report = interrupted(&session).await;
    assert_eq!(report.outcome, InterruptOutcome::Uninterruptible, "{report:?}");
    assert_eq!(report.eval.expect("it ran").status, Status::Interrupted);
    assert_eq!(session.info().state, SessionState::Uninterruptible);
    let next = eval(&session, "over.set()").await;
    assert!(next.status == Status::Done && next.notes[0].starts_with("Code of #"), "{next:?}");
    until(&session, |state| state == SessionState::Idle).await;
    // This process ignores the signal.
    let code = "child = subprocess.Popen(['sh', '-c', 'trap \"\" INT; exec sleep 1000'])\ntime.sleep(0.3)\nprint('begun')\ntime.sleep(1000)";
    start_evaluation(&session, code, "begun").await;
    let report = interrupted(&session).await;
    let rest = report.rest.expect("something is left");
    assert!(rest.starts_with("sleep (") && rest.ends_with(") still runs"), "{rest}");
    assert_eq!(eval(&session, "child.kill(); child.wait()").await.value.as_deref(), Some("-9"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_interrupt_that_was_caught_input_still_comes_through() {
    let session = python();
    let waiting = eval(&session, "import pdb; pdb.set_trace()\nx = 1").await;
    assert_eq!(waiting.status, Status::WaitingForInput, "{waiting:?}");
    let report = interrupted(&session).await;
    assert_eq!(report.outcome, InterruptOutcome::NotYet, "{report:?}");
    assert_eq!(report.eval.expect("it runs").status, Status::WaitingForInput);
    session.input_to(Some(waiting.eval), "q\n".to_owned(), false).await.expect("it reads");
    let ended = session.wait(Some(waiting.eval), LONG, 1000).await.expect("an answer");
    assert_eq!(ended.status, Status::Error, "{ended:?}");
    assert_eq!(eval(&session, "1+1").await.value.as_deref(), Some("2"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_reads_all_of_its_input_leaves_the_session_alive() {
    let session = ghci();
    for code in ["interact id", "getContents >>= putStr", "mapM_ print . lines =<< getContents"] {
        let waiting = eval(&session, code).await;
        assert_eq!(waiting.status, Status::WaitingForInput, "{code}: {waiting:?}");
        session.input("begun\n".to_owned(), false).await.expect("it reads");
        session.wait(None, LONG, 100).await.expect("it waits for more");
        let report = interrupted(&session).await;
        assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{code}: {report:?}");
        assert_eq!(line(&eval(&session, "putStrLn \"λ\"").await), "done | \"λ\\n\" | \"\"", "{code}");
    }
    // The same holds for text that was read to its end, or that code still holds.
    let request = EvalRequest { stdin: Some("one\n".to_owned()), wait: LONG, ..EvalRequest::new("interact (take 3)") };
    assert_eq!(line(&session.eval(request).await.expect("an answer")), "done | \"one\" | \"\"");
    assert_eq!(line(&eval(&session, "s <- getContents").await), "done | \"\" | \"\"");
    assert_eq!(eval(&session, "length s").await.status, Status::Error);
    assert_eq!(line(&eval(&session, "putStrLn \"λ\"").await), "done | \"λ\\n\" | \"\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_interrupted_reload_the_next_result_is_right_or_says_why_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name);
    let big = |value: usize| {
        let functions: String =
            (0..3000).map(|n| format!("f{n} :: Int -> Int\nf{n} x = x + {n} + {value}\n")).collect();
        std::fs::write(file("Big.hs"), format!("module Big where\nv :: Int\nv = {value}\n{functions}"))
            .expect("written");
    };
    big(1);
    std::fs::write(file("Main.hs"), "module Main where\nimport Big\nm :: Int\nm = v\nmain :: IO ()\nmain = print m\n")
        .expect("written");
    let session = ghci();
    assert_eq!(
        eval(&session, &format!(":cd {}\n:load Main.hs", directory.path().display())).await.status,
        Status::Done
    );
    assert_eq!(eval(&session, "m").await.stdout, "1\n");
    big(2);
    let mut end = session.output().end();
    let running =
        session.eval(EvalRequest { wait: Duration::ZERO, ..EvalRequest::new(":reload") }).await.expect("taken");
    let printed = || {
        session.output().read_blocking(&process::output::Query { eval: Some(Some(running.eval)), ..Default::default() })
    };
    while !String::from_utf8_lossy(&printed().bytes()).contains("Compiling Big") {
        tokio::time::timeout(LONG, end.changed()).await.expect("it prints").expect("the log lives");
    }
    let report = interrupted(&session).await;
    let ended = report.eval.expect("it ran");
    assert_eq!(ended.status, Status::Interrupted, "{ended:?}");
    assert_eq!(line(&eval(&session, "1+1").await), "done | \"2\\n\" | \"\"");
    let next = eval(&session, "m").await;
    assert!(next.status == Status::Error && next.notes[0].contains("was interrupted"), "{next:?}");
    assert_eq!(eval(&session, ":reload").await.status, Status::Done);
    let next = eval(&session, "m").await;
    assert!(next.stdout == "2\n" && next.notes.is_empty() || next.status == Status::Error, "{next:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_program_prints_or_raises_is_no_interrupt() {
    let (ghci, python, bash) = (ghci(), python(), bash());
    let said = eval(&ghci, "System.IO.hPutStrLn System.IO.stderr \"Interrupted.\"").await;
    assert_eq!(line(&said), "done | \"\" | \"Interrupted.\\n\"");
    let raised = eval(&ghci, "Control.Exception.throwIO Control.Exception.UserInterrupt\nputStrLn \"never\"").await;
    assert_eq!(line(&raised), "error | \"\" | \"Interrupted.\\n\"");
    assert_eq!(raised.exception.as_deref(), Some("user interrupt"));
    let raised = eval(&python, "raise KeyboardInterrupt").await;
    assert_eq!((raised.status, raised.exception.as_deref()), (Status::Error, Some("KeyboardInterrupt")));
    let exited = eval(&bash, "(exit 130)").await;
    assert_eq!((exited.status, exited.exception.as_deref()), (Status::Error, Some("exit status 130")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evaluation_interrupted_between_its_pieces_is_interrupted() {
    let session = ghci();
    eval(&session, "import Control.Concurrent").await;
    let pieces: String = (0..400).map(|n| format!("x{n} = {n}\nputStrLn \"at {n}\"\n")).collect();
    for n in 0..8 {
        start_evaluation(&session, &pieces, &format!("at {n}\n")).await;
        let report = interrupt("ghci", &session).await;
        let ended = report.eval.expect("it ran");
        assert_eq!((report.outcome, ended.status), (InterruptOutcome::Interrupted, Status::Interrupted), "{ended:?}");
    }
    assert_eq!(session.definitions().await, ["import Control.Concurrent"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_evaluation_that_is_meant() {
    let session = ghci();
    let over = eval(&session, "import Control.Concurrent").await.eval;
    let running = start_evaluation(&session, "putStrLn \"begun\" >> threadDelay 100000000", "begun").await;
    let refused = session.interrupt_one(Some(over), View::all(100)).await.expect_err("it is over");
    assert!(
        matches!(refused, SessionError::NotRunning { eval, runs, .. } if eval == over && runs == Some(running)),
        "{refused}"
    );
    let refused = session.input_to(Some(over), "x\n".to_owned(), false).await.expect_err("it is over");
    assert_eq!(refused.to_string(), format!("evaluation {over} has ended (done); #{running} is running"));
    let begun = Instant::now();
    let report = session.interrupt_one(Some(running), View::all(100)).await.expect("an answer");
    assert_eq!(report.outcome, InterruptOutcome::Interrupted);
    println!("interrupted after {:?}", begun.elapsed());
}

/// An evaluation that continues to print now and then is reported; an idle session must print nothing more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_that_print_now_and_then_are_told() {
    let (ghci, python) = (ghci(), python());
    eval(&ghci, "import Control.Concurrent\nimport Control.Monad").await;
    eval(&python, "import threading, time").await;
    let told = async |session: &Handle, code: &str, word: &str| {
        start_evaluation(session, code, word).await;
        let report = interrupted(session).await;
        assert_eq!(report.outcome, InterruptOutcome::Uninterruptible, "{code}: {report:?}");
        assert_eq!(report.rest.as_deref(), Some("prints"), "{code}");
        assert_eq!(report.eval.expect("it ran").status, Status::Interrupted, "{code}");
        assert_eq!(session.info().state, SessionState::Uninterruptible, "{code}");
    };
    tokio::join!(
        async {
            let code = "forkIO (forM_ [1 .. 80] (\\n -> threadDelay 100000 >> print n)) >> threadDelay 100000000";
            told(&ghci, code, "5\n").await;
            until(&ghci, |state| state == SessionState::Idle).await;
            let last = eval(&ghci, "1+1").await;
            assert!(last.between.is_some_and(|between| between.stdout.ends_with("\n80\n")), "it had ended");
        },
        async {
            let code = "over = threading.Event()\ndef tick():\n    while not over.wait(0.4): print('tick')\n\
                        threading.Thread(target=tick, daemon=True).start()\ntime.sleep(1000)";
            told(&python, code, "tick\ntick\n").await;
            eval(&python, "over.set()").await;
            until(&python, |state| state == SessionState::Idle).await;
            // Output printed once is reported at once.
            start_evaluation(&python, "print('begun')\ntime.sleep(1000)", "begun").await;
            let report = interrupted(&python).await;
            assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{report:?}");
            let running = EvalRequest { wait: Duration::from_millis(1500), ..EvalRequest::new("time.sleep(1000)") };
            python.eval(running).await.expect("taken");
            let report = interrupted(&python).await;
            assert!(report.took < Duration::from_millis(700), "it was quiet: {report:?}");
        }
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_end_over_an_interrupt_are_waited_for() {
    let session = python();
    let code = "import time, multiprocessing as mp\ndef burn():\n    while True: pass\n\
                ps = [mp.Process(target=burn) for _ in range(2)]\nfor p in ps: p.start()\ntime.sleep(0.3)\nprint('begun')\nfor p in ps: p.join()";
    for silence in [0, 1200] {
        let running = start_evaluation(&session, code, "begun").await;
        session.wait(Some(running), Duration::from_millis(silence), 100).await.expect("it runs");
        let report = interrupted(&session).await;
        assert_eq!((report.outcome, &report.rest), (InterruptOutcome::Interrupted, &None), "{report:?}");
        let mut end = session.output().end();
        end.borrow_and_update();
        let more = tokio::time::timeout(Duration::from_secs(1), end.changed()).await;
        assert!(more.is_err(), "nothing is printed after the answer");
    }
}

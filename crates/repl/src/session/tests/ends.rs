//! Ends that come from outside, or at an odd moment.

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::result::Status;
use crate::session::InterruptOutcome;

fn terminate(session: &Handle) {
    let pid = session.info().pid.and_then(|pid| Pid::from_raw(pid.cast_signed())).expect("it lives");
    kill_process(pid, Signal::TERM).expect("sent");
}

/// Starts an evaluation, and returns when it is running.
async fn start_evaluation(session: &Handle, code: &str) -> u64 {
    let running = session.eval(EvalRequest { wait: Duration::ZERO, ..EvalRequest::new(code) }).await.expect("taken");
    let mut runs = session.watch();
    let waited = tokio::time::timeout(LONG, runs.wait_for(|info| info.current == Some(running.eval))).await;
    waited.expect("in time").expect("the session tells");
    running.eval
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn termination_from_outside_is_no_ordinary_end() {
    let session = ghci();
    eval(&session, "import Control.Concurrent").await;
    for code in ["threadDelay 100000000", "length [1 ..]", "getLine", "putStr \"half a line\" >> threadDelay 100000000"]
    {
        let running = start_evaluation(&session, code).await;
        session.wait(Some(running), Duration::from_millis(200), 100).await.expect("it runs");
        terminate(&session);
        let mut seen = session.watch();
        let over = tokio::time::timeout(LONG, seen.wait_for(|info| info.current.is_none())).await;
        drop(over.expect("in time").expect("the session tells"));
        let ended = session.wait(Some(running), LONG, 1000).await.expect("remembered");
        assert_eq!(ended.status, Status::Interrupted, "{code}: {ended:?}");
        assert_eq!(ended.notes, ["It was ended by signal 15 (SIGTERM) from another process."], "{code}");
        assert_eq!(line(&eval(&session, "1+1").await), "done | \"2\\n\" | \"\"", "{code}");
    }
    // At its prompt the REPL exits.
    terminate(&session);
    let mut seen = session.watch();
    let ended =
        tokio::time::timeout(Duration::from_secs(10), seen.wait_for(|info| !info.state.is_alive())).await.is_ok();
    let printed = session.output().read_blocking(&Default::default()).bytes();
    assert!(ended, "{:?}\n{}", session.info(), String::from_utf8_lossy(&printed));
    assert_eq!(session.info().reason.as_deref(), Some("another process ended it with signal 15 (SIGTERM)"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_output_is_an_end_whatever_is_set() {
    for stream in ["stdout", "stderr"] {
        let session = ghci();
        eval(&session, ":set +s").await;
        let result = eval(&session, &format!("System.IO.hClose System.IO.{stream}")).await;
        let ended = matches!(result.status, Status::Exited | Status::Killed);
        assert!(ended, "{stream}: {result:?}");
        until(&session, |state| !state.is_alive()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_that_runs_as_code_can_be_interrupted() {
    let session = ghci();
    eval(&session, "import Control.Concurrent").await;
    // The program reads one character, although its code does not show that; GHCi runs the rest of the line as code,
    // which takes a while.
    eval(&session, "ask :: IO Char\nask = getChar").await;
    let running = eval(&session, "ask").await;
    assert_eq!(running.status, Status::WaitingForInput, "{running:?}");
    session.input("xthreadDelay 100000000\n".to_owned(), false).await.expect("it reads");
    // It runs forever.
    session.wait(Some(running.eval), Duration::from_secs(1), 100).await.expect("an answer");
    let report = session.interrupt(1000).await.expect("an answer");
    assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{report:?}");
    let ended = report.eval.expect("it is about one");
    assert_eq!((ended.eval, ended.status), (running.eval, Status::Done), "{ended:?}");
    assert!(ended.notes[0].starts_with("Input that the program did not read was run as code"), "{ended:?}");
    assert_eq!(line(&eval(&session, "1+1").await), "done | \"2\\n\" | \"\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_that_is_replaced_by_a_shell_goes_on() {
    let session = bash();
    eval(&session, "export kept=1; lost=2").await;
    for replace in ["exec bash", "exec bash --norc", "exec env x=1 bash"] {
        let result = eval(&session, replace).await;
        assert_eq!(line(&result), "done | \"\" | \"\"", "{replace}");
        assert_eq!(result.notes, ["The shell was replaced by a new one: unexported definitions are gone."]);
        assert_eq!(line(&eval(&session, "echo $kept-$lost; echo e >&2").await), "done | \"1-\\n\" | \"e\\n\"");
    }
    let waiting = eval(&session, "read x; echo \"<$x>\"").await;
    assert_eq!(waiting.status, Status::WaitingForInput, "{waiting:?}");
    session.input("in\n".to_owned(), false).await.expect("it reads");
    assert_eq!(session.wait(None, LONG, 100).await.expect("an answer").stdout, "<in>\n");
    // Any other program in its place is left alone.
    let waiting = eval(&session, "exec cat").await;
    assert_eq!(waiting.status, Status::WaitingForInput);
    assert_eq!(waiting.notes, ["The REPL was replaced by `cat`; repl_restart starts it again."]);
    session.input("meow\n".to_owned(), true).await.expect("it reads");
    let ended = session.wait(None, LONG, 100).await.expect("an answer");
    assert_eq!((ended.status, ended.stdout.as_str()), (Status::Exited, "meow\n"));
}

pub(super) fn bash() -> Handle {
    let profiles = crate::profile::Profiles::builtin();
    let env = vec![("PATH".to_owned(), std::env::var("PATH").expect("a PATH"))];
    let launch = profiles.get("bash").expect("built in").launch(env, "/".into(), 8 << 30).expect("it is there");
    let setup = SessionSpec { launch, ..setup(&["bash"], Path::new("/"), Arc::new(crate::adapter::bash::Bash)) };
    start(setup, log()).expect("it starts")
}

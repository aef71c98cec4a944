//! Several callers, several sessions, callers that disconnect, and limits.

use super::*;
use crate::result::Status;
use crate::session::handle::Command;
use crate::session::{InterruptOutcome, SessionError};

fn request(code: &str, wait: Duration) -> EvalRequest {
    EvalRequest { wait, ..EvalRequest::new(code) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_of_one_session_take_turns() {
    let session = ghci();
    let callers: Vec<_> = (0..10)
        .map(|n| {
            let session = session.clone();
            tokio::spawn(async move {
                for turn in 0..10 {
                    let code =
                        format!("putStr \"{n}.\" >> putStr \"{turn}\" >> System.IO.hPutStr System.IO.stderr \"e{n}\"");
                    assert_eq!(line(&eval(&session, &code).await), format!("done | \"{n}.{turn}\" | \"e{n}\""));
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("every answer was its own");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_goes_away_takes_back_what_waits_and_not_what_runs() {
    let session = ghci();
    eval(&session, "import Control.Concurrent").await;
    let running = tokio::spawn({
        let session = session.clone();
        async move { eval(&session, "threadDelay 300000 >> putStrLn \"ran\"").await }
    });
    until(&session, |state| state == SessionState::Running).await;
    let waiting = tokio::spawn({
        let session = session.clone();
        async move { eval(&session, "putStrLn \"never\"").await }
    });
    let mut seen = session.watch();
    seen.wait_for(|info| info.queue_depth == 1).await.expect("it is queued");
    running.abort();
    waiting.abort();
    assert!(running.await.is_err() && waiting.await.is_err());
    assert_eq!(line(&eval(&session, "1+1").await), "done | \"2\\n\" | \"\"");
    let printed = session.output().read_blocking(&Default::default()).bytes();
    let printed = String::from_utf8_lossy(&printed);
    assert!(printed.contains("ran\n") && !printed.contains("never"), "{printed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn out_of_time_means_still_there() {
    let session = ghci();
    let starting = session.eval(request("threadDelay 100000", Duration::ZERO)).await.expect("taken");
    assert_eq!(starting.status, Status::Starting);
    eval(&session, "import Control.Concurrent").await;
    let running = session.eval(request("threadDelay 100000000", Duration::from_millis(50))).await.expect("taken");
    assert_eq!(running.status, Status::Running);
    let queued = session.eval(request("1+1", Duration::ZERO)).await.expect("taken");
    assert_eq!(queued.status, Status::Queued);
    assert_eq!(session.wait(Some(queued.eval), Duration::ZERO, 100).await.expect("an answer").status, Status::Queued);
    assert_eq!(session.interrupt(100).await.expect("an answer").outcome, InterruptOutcome::Interrupted);
    assert_eq!(line(&session.wait(Some(queued.eval), LONG, 100).await.expect("an answer")), "done | \"2\\n\" | \"\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processor_time_is_that_of_the_evaluation() {
    let session = ghci();
    eval(&session, "1").await;
    let mut seen = session.watch();
    seen.wait_for(|info| info.memory.is_some()).await.expect("it is measured");
    let slept = eval(&session, "Control.Concurrent.threadDelay 200000").await;
    assert!(slept.cpu_ms.expect("measured") < 100, "{slept:?}");
    let computed = eval(&session, "print (sum [1 .. 10000000])").await;
    assert!(computed.cpu_ms.expect("measured") > 100, "{computed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_watched() {
    let mut setup = setup(&["ghci"], Path::new("/"), Arc::new(Ghci));
    setup.launch.memory_limit = 400 << 20;
    let session = start(setup, log()).expect("ghci is installed");
    let result = eval(&session, "let l = [1 .. 20000000 :: Int] in print (sum l) >> print (length l)\nlength l").await;
    let result = if result.status.is_final() && result.status != Status::Killed {
        eval(&session, "let l = [1 .. 100000000 :: Integer] in print (sum l) >> print (length l)").await
    } else {
        result
    };
    assert_eq!(result.status, Status::Killed, "{result:?}");
    let reason = session.info().reason.expect("a reason");
    assert!(reason.starts_with("it used ") && reason.contains("the limit is 400 MiB"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_does_not_react_is_said_so_and_a_restart_helps() {
    let session = ghci();
    // A loop that allocates nothing never lets GHC check for the signal.
    let endless = request("Control.Monad.forever (return ())", Duration::from_secs(3));
    assert_eq!(session.eval(endless).await.expect("taken").status, Status::Running);
    let report = session.interrupt(100).await.expect("an answer");
    assert_eq!(report.outcome, InterruptOutcome::Uninterruptible);
    assert_eq!(session.info().state, SessionState::Uninterruptible);
    assert_eq!(session.wait(None, Duration::ZERO, 100).await.expect("an answer").status, Status::Running);
    session.stop("it was restarted").await;
    assert_eq!(session.wait(None, LONG, 100).await.expect("an answer").status, Status::Killed);
}

#[tokio::test]
async fn a_refusal_that_comes_when_the_time_is_over_is_the_answer() {
    let real = ghci();
    // The test stands in for the session, so that the order is certain.
    let (commands, mut received) = tokio::sync::mpsc::channel(4);
    let handle = Handle { commands, shared: real.shared.clone() };
    let asked = tokio::spawn(async move { handle.eval(request("1", Duration::ZERO)).await });
    let Some(Command::Eval { reply: refuse, .. }) = received.recv().await else { panic!("it is asked first") };
    let Some(Command::Look { reply: look, .. }) = received.recv().await else { panic!("then its time is over") };
    let full = SessionError::QueueFull { session: "main".to_owned(), limit: 1, runs: None };
    assert!(refuse.send(Err(full)).is_ok() && look.send(Err(SessionError::NothingYet { session: "x".into() })).is_ok());
    let answer = asked.await.expect("no panic").expect_err("it was refused");
    assert!(matches!(answer, SessionError::QueueFull { .. }), "{answer}");
    real.stop("the test is over").await;
}

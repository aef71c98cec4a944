//! Code in GHCi may redirect its standard handles and set their buffering.

use super::*;
use crate::result::Status;
use crate::session::InterruptOutcome;

async fn check(session: &Handle, evaluations: &[(&str, &str)]) {
    for (code, expected) in evaluations {
        let result = eval(session, code).await;
        assert_eq!(line(&result), *expected, "{code}: {result:?}");
    }
}

/// Starts an evaluation that only sleeps, and interrupts it.
async fn interrupt_sleep(session: &Handle) {
    let request = EvalRequest { wait: Duration::from_millis(200), ..EvalRequest::new("threadDelay 100000000") };
    assert_eq!(session.eval(request).await.expect("taken").status, Status::Running);
    let report = session.interrupt(1000).await.expect("an answer");
    assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standard_output_that_leads_to_a_file_takes_no_marker_along() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("out");
    let session = ghci();
    eval(&session, "import System.IO\nimport GHC.IO.Handle\nimport Control.Concurrent").await;
    let open = format!("h <- hDuplicate stdout\nf <- openFile {:?} WriteMode", path.to_str().expect("UTF-8"));
    let evaluations = [
        (&*open, r#"done | "" | """#),
        ("hDuplicateTo f stdout", r#"done | "" | """#),
        ("putStrLn \"in the file\"", r#"done | "" | """#),
        ("1+1", r#"done | "" | """#),
        ("1 `div` 0", r#"error | "" | "*** Exception: divide by zero\n""#),
    ];
    check(&session, &evaluations).await;
    assert_eq!(std::fs::read_to_string(&path).expect("written"), "in the file\n2\n");
    let interrupted = std::time::Instant::now();
    interrupt_sleep(&session).await;
    assert!(interrupted.elapsed() < Duration::from_secs(5), "{:?}", interrupted.elapsed());
    let given = session.eval(EvalRequest {
        stdin: Some("a line\n".to_owned()),
        wait: LONG,
        ..EvalRequest::new("getLine >>= hPutStrLn stderr")
    });
    assert_eq!(line(&given.await.expect("an answer")), r#"done | "" | "a line\n""#);
    let evaluations =
        [("hDuplicateTo h stdout", r#"done | "" | """#), ("putStrLn \"back\"\n1+1", r#"done | "back\n2\n" | """#)];
    check(&session, &evaluations).await;
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standard_error_that_leads_elsewhere_ends_nothing() {
    let session = ghci();
    eval(&session, "import System.IO\nimport GHC.IO.Handle\nimport Control.Concurrent\ne <- hDuplicate stderr").await;
    let evaluations = [
        ("hDuplicateTo stdout stderr", r#"done | "" | """#),
        ("hPutStrLn stderr \"err\"", r#"done | "err\n" | """#),
        ("1 `div` 0", r#"error | "*** Exception: divide by zero\n" | """#),
        ("2", r#"done | "2\n" | """#),
    ];
    check(&session, &evaluations).await;
    assert_eq!(eval(&session, "1 + True").await.status, Status::Error);
    interrupt_sleep(&session).await;
    let evaluations = [
        ("hDuplicateTo e stderr", r#"done | "" | """#),
        ("hPutStrLn stderr \"err\"", r#"done | "" | "err\n""#),
        ("1 `div` 0", r#"error | "" | "*** Exception: divide by zero\n""#),
        ("1+1", r#"done | "2\n" | """#),
    ];
    check(&session, &evaluations).await;
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_buffering_that_code_sets_stays_up_to_the_next_load() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("A.hs").display().to_string();
    std::fs::write(&path, "module A where\na = 1\n").expect("written");
    let session = ghci();
    let load = format!(":load {path}");
    eval(&session, "import System.IO").await;
    let modes = [
        ("-- nothing", "LineBuffering"),
        ("hSetBuffering stdout NoBuffering", "NoBuffering"),
        ("print 1", "NoBuffering"),
        ("hSetBuffering stdout (BlockBuffering (Just 100))", "BlockBuffering (Just 100)"),
        ("print 1", "BlockBuffering (Just 100)"),
        ("hSetBuffering stdout LineBuffering", "LineBuffering"),
        ("do { hSetBuffering stdout NoBuffering; l <- getLine; putStrLn l }", "NoBuffering"),
        (&load, "NoBuffering"),
        ("import System.IO\nhSetBuffering stdout (BlockBuffering Nothing)", "BlockBuffering Nothing"),
        ("getLine", "BlockBuffering Nothing"),
        (&load, "LineBuffering"),
        ("import System.IO\ngetLine", "LineBuffering"),
        ("print 1", "LineBuffering"),
    ];
    for (code, mode) in modes {
        let stdin = code.contains("getLine").then(|| "line\n".to_owned());
        let result =
            session.eval(EvalRequest { stdin, wait: LONG, ..EvalRequest::new(code) }).await.expect("an answer");
        assert_eq!(result.status, Status::Done, "{code}: {result:?}");
        let found = eval(&session, "System.IO.hGetBuffering System.IO.stdout").await;
        assert_eq!(line(&found), format!("done | \"{mode}\\n\" | \"\""), "after {code}");
    }
    // Without buffering, the output of a value before its failure is printed, as in bare GHCi.
    eval(&session, "hSetBuffering stdout NoBuffering").await;
    let failed = eval(&session, "[1, 2, error \"later\"]").await;
    assert_eq!((failed.status, failed.stdout.as_str()), (Status::Error, "[1,2,"));
    let block = eval(&session, "hSetBuffering stdout (BlockBuffering Nothing)\nputStr \"all of it\"").await;
    assert_eq!(block.stdout, "all of it", "a piece ends with a flush");
    session.stop("the test is over").await;
}

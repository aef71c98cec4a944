//! Standard input given beforehand is handed over as fast as it is read, has an end, and unread input does not run as
//! code.

use std::time::Instant;

use super::ends::bash;
use super::interrupts::python;
use super::*;
use crate::result::Status;
use crate::session::InterruptOutcome;

fn with(code: &str, stdin: &str) -> EvalRequest {
    EvalRequest { stdin: Some(stdin.to_owned()), wait: LONG, ..EvalRequest::new(code) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_lines_go_in_at_once() {
    let count = super::stress::count("HOB_STRESS_LINES", 5000);
    let lines: String = (0..count).map(|n| format!("line {n} λ\n")).collect();
    let sum = (0..count).map(|n| format!("line {n} λ").chars().count()).sum::<usize>();
    let cases = [
        ("ghci", ghci(), format!("fmap (sum . map length) (sequence (replicate {count} getLine))"), format!("{sum}\n")),
        ("python", python(), format!("print(sum(len(input()) for _ in range({count})))"), format!("{sum}\n")),
        (
            "bash",
            bash(),
            format!("sum=0; for ((n = 0; n < {count}; n++)); do read -r line; ((sum += ${{#line}})); done; echo $sum"),
            format!("{sum}\n"),
        ),
    ];
    for (name, session, code, expected) in cases {
        eval(&session, if name == "bash" { "LC_ALL=C.UTF-8" } else { "1" }).await;
        let begun = Instant::now();
        let result = session.eval(with(&code, &lines)).await.expect("an answer");
        println!("{name}: {count} lines in {:?}", begun.elapsed());
        assert_eq!(
            (result.status, result.stdout.as_str()),
            (Status::Done, expected.as_str()),
            "{name}: {:?}",
            result.stderr
        );
        assert_eq!(result.notes, [] as [&str; 0], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_to_its_end_did_not_run_as_code() {
    for code in ["getContents >>= putStr", "interact id", "getLine >>= putStrLn"] {
        let session = ghci();
        let running = eval(&session, code).await;
        assert_eq!(running.status, Status::WaitingForInput, "{code}: {running:?}");
        session.input("zz\n".to_owned(), true).await.expect("it reads");
        let ended = session.wait(Some(running.eval), LONG, 100).await.expect("an answer");
        assert_eq!(ended.stdout, "zz\n", "{code}: {ended:?}");
        // GHCi reads the same input, and exits at its end.
        let notes = ended.notes.iter().filter(|note| !note.starts_with("The session ended:"));
        assert_eq!(notes.count(), 0, "{code}: {ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_read_is_taken_back() {
    let ghci = ghci();
    let cases = [
        ("getLine", "one\nputStrLn \"never\"\nundefined\n", "\"one\"\n", 27),
        ("getChar", "xputStrLn \"never\"\n", "'x'\n", 17),
        ("x <- getLine\ny <- getLine\nputStrLn (y ++ x)", "one\ntwo\nthree\n", "twoone\n", 6),
        ("return ()", "putStrLn \"never\"\n", "", 17),
        ("interact (take 2)", "λμν\n", "λμ", 0),
    ];
    for (code, stdin, expected, unread) in cases {
        let result = ghci.eval(with(code, stdin)).await.expect("an answer");
        assert_eq!((result.status, result.stdout.as_str()), (Status::Done, expected), "{code}: {result:?}");
        let notes: Vec<String> = (unread > 0)
            .then(|| format!("The program did not read {unread} bytes of its input."))
            .into_iter()
            .collect();
        assert_eq!(result.notes, notes, "{code}");
        assert_eq!(line(&eval(&ghci, "1+1").await), "done | \"2\\n\" | \"\"", "{code}");
    }
    // GHCi's own messages are separate.
    let code = "import System.IO\nx <- getLine\nhPutStrLn stderr \"*** Exception: no\" >> getLine >>= ioError . userError\nputStrLn x";
    let result = ghci.eval(with(code, "one\ntwo\nthree\n")).await.expect("an answer");
    assert_eq!((result.status, result.exception.as_deref()), (Status::Error, Some("user error (two)")), "{result:?}");
    assert_eq!(
        result.notes,
        [
            "Stopped at the first error; 1 more piece of the code did not run.",
            "The program did not read 6 bytes of its input."
        ]
    );
    let result =
        ghci.eval(with("hPutStrLn stderr \"Interrupted.\" >> getLine", "one\ntwo\n")).await.expect("an answer");
    assert_eq!(
        (result.status, result.notes.as_slice()),
        (Status::Done, &["The program did not read 4 bytes of its input.".to_owned()][..])
    );
    let python = python();
    let result = python.eval(with("input()", "one\ntwo\nthree\n")).await.expect("an answer");
    assert_eq!(result.notes, ["The program did not read 10 bytes of its input."], "{result:?}");
    let result = python.eval(with("import sys; sys.stdin.read(2)", "λμν\n")).await.expect("an answer");
    assert_eq!((result.value.as_deref(), result.notes.len()), (Some("'λμ'"), 1), "{result:?}");
    let result = python.eval(with("input(), input()", "four\nfive\n")).await.expect("an answer");
    assert_eq!(result.value.as_deref(), Some("('four', 'five')"), "nothing of the former: {result:?}");
    let bash = bash();
    let result = bash.eval(with("read -r x; echo \"<$x>\"", "one\necho never\n")).await.expect("an answer");
    assert_eq!(result.stdout, "<one>\n");
    assert_eq!(line(&eval(&bash, "(exit 3)").await), "error | \"\" | \"\"");
    let result = bash.eval(with("echo $?; head -c 2 >/dev/null", "ab\ncd\n")).await.expect("an answer");
    assert_eq!(result.stdout, "3\n", "{result:?}");
    assert_eq!(line(&eval(&bash, "echo 2").await), "done | \"2\\n\" | \"\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_given_beforehand_ends() {
    let bash = bash();
    let all = "one\ntwo @HOB-SCRIPT-PATH@ 'λ'";
    for (code, stdin, expected) in [
        ("cat; cat", all, all),
        ("wc -l", "one\ntwo\n", "2\n"),
        ("while read -r x; do echo \"<$x>\"; done", "one\ntwo\n", "<one>\n<two>\n"),
        ("read -r x; read -r y || echo \"$x @HOB-SCRIPT-PATH@\"", "one\n", "one @HOB-SCRIPT-PATH@\n"),
        ("exec <&-; echo closed", "one\n", "closed\n"),
        ("exec </dev/null; cat; echo null", "one\n", "null\n"),
        ("set -x; cat; set +x", "", ""),
        ("sh -c cat", "one\n", "one\n"),
    ] {
        let result = bash.eval(with(code, stdin)).await.expect("an answer");
        assert_eq!((result.status, result.stdout.as_str()), (Status::Done, expected), "{code}: {result:?}");
    }
    // The next evaluation reads its own input.
    let begun = bash.eval(EvalRequest { wait: Duration::ZERO, ..with("cat; sleep 1000", "one\n") }).await;
    let refused = bash.input("more\n".to_owned(), true).await.expect_err("it has all of it");
    let eval_number = begun.expect("taken").eval;
    assert_eq!(
        refused.to_string(),
        format!("evaluation {eval_number} already has its complete input, from `stdin` of repl_eval")
    );
    let report = interrupt("bash", &bash).await;
    assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{report:?}");
    let waiting = eval(&bash, "read -r x; echo \"<$x>\"").await;
    assert_eq!(waiting.status, Status::WaitingForInput, "{waiting:?}");
    bash.input("later\n".to_owned(), false).await.expect("it reads");
    assert_eq!(bash.wait(None, LONG, 100).await.expect("an answer").stdout, "<later>\n");

    let python = python();
    for (code, stdin, expected) in [
        ("import sys; sys.stdin.read()", all, "\"one\\ntwo @HOB-SCRIPT-PATH@ 'λ'\""),
        ("list(sys.stdin)", "one\ntwo\n", "['one\\n', 'two\\n']"),
        ("import os; os.read(0, 100), os.read(0, 100)", "one\n", "(b'one\\n', b'')"),
        ("import subprocess; subprocess.check_output('cat')", "one\n", "b'one\\n'"),
        ("os.close(0); '@HOB-SCRIPT-PATH@'", "one\n", "'@HOB-SCRIPT-PATH@'"),
    ] {
        let result = python.eval(with(code, stdin)).await.expect("an answer");
        assert_eq!(result.value.as_deref(), Some(expected), "{code}: {result:?}");
    }
    let result = python.eval(with("input(), input()", "one\n")).await.expect("an answer");
    assert_eq!(result.exception.as_deref(), Some("EOFError: EOF when reading a line"));
    // An end of input given during an evaluation applies to that evaluation only, too.
    for _ in 0..2 {
        let waiting = eval(&python, "sys.stdin.read()").await;
        assert_eq!(waiting.status, Status::WaitingForInput, "{waiting:?}");
        python.input("some".to_owned(), true).await.expect("it reads");
        assert_eq!(python.wait(None, LONG, 100).await.expect("an answer").value.as_deref(), Some("'some'"));
    }

    // Only GHCi has no separate end, and reports that.
    let ghci = ghci();
    let waiting = ghci.eval(with("getContents >>= putStr", "one\n")).await.expect("an answer");
    assert_eq!((waiting.status, waiting.stdout.as_str()), (Status::WaitingForInput, "one\n"), "{waiting:?}");
    let note = waiting.notes.last().expect("it is said");
    assert!(note.starts_with("The program has read all of `stdin` and waits for more."), "{note}");
    ghci.input(String::new(), true).await.expect("it reads");
    let ended = ghci.wait(None, LONG, 100).await.expect("an answer");
    assert_eq!((ended.status, ended.stdout.as_str(), ended.notes.len()), (Status::Exited, "one\n", 1), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_asks_for_a_password_without_warnings_and_names_ipython_for_magics() {
    let session = python();
    let asked = eval(&session, "import getpass\nlen(getpass.getpass())").await;
    assert_eq!((asked.status, asked.stderr.as_str()), (Status::WaitingForInput, "Password: "), "{asked:?}");
    session.input("secret\n".to_owned(), false).await.expect("it reads");
    let ended = session.wait(Some(asked.eval), LONG, 100).await.expect("an answer");
    assert_eq!((ended.value.as_deref(), ended.stderr.as_str()), (Some("6"), "Password: \n"), "{ended:?}");
    let magic = eval(&session, "%time 1").await;
    assert!(magic.status == Status::Error && magic.notes[0].starts_with("Magics need IPython"), "{magic:?}");
}

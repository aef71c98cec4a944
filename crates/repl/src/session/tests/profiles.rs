//! The requirements for built-in profiles, tested on the real programs; GHCi has its own tests.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use diagnostics::Source;

use super::{LONG, eval, interrupt, log, setup, until};
use crate::adapter::ghci::Ghci;
use crate::profile::Profiles;
use crate::result::{EvalResult, Status};
use crate::session::{EvalRequest, Handle, InterruptOutcome, SessionSpec, SessionState, start};

fn session(profile: &str) -> Handle {
    session_in(profile, Path::new("/"))
}

pub(super) fn session_in(profile: &str, folder: &Path) -> Handle {
    let keep = |name: &str| (name.to_owned(), std::env::var(name).unwrap_or_default());
    let launch = Profiles::builtin()
        .get(profile)
        .expect("built in")
        .launch(vec![keep("PATH"), keep("HOME")], folder.into(), 8 << 30)
        .expect("the program is installed");
    let spec = SessionSpec { launch, ..setup(&["unused"], folder, Arc::new(Ghci)) };
    start(spec, log()).expect("it starts")
}

pub(super) fn line(result: &EvalResult) -> String {
    let value = result.value.as_deref().map_or(String::new(), |value| format!(" = {value}"));
    format!("{} | {:?} | {:?}{value}", result.status.name(), result.stdout, result.stderr)
}

/// The test cases in one language.
struct Sample<'a> {
    version: &'a str,
    /// Code and its result line.
    evaluations: &'a [(&'a str, &'a str)],
    /// Code that reads a line and shows it.
    read: &'a str,
    /// Its result for the line `ho b`.
    read_gives: &'a str,
    /// Endless code that an interrupt must end.
    endless: &'a [&'a str],
    /// A sum and its result line.
    sum: (&'a str, &'a str),
    exit: &'a str,
}

async fn check(profile: &str, sample: Sample<'_>) {
    let session = session(profile);
    for (code, expected) in sample.evaluations {
        assert_eq!(line(&eval(&session, code).await), *expected, "{profile}: {code}");
    }
    let version = session.info().version.expect("a version");
    assert!(version.starts_with(sample.version), "{version}");

    // Standard input, detected and answered.
    let waiting = eval(&session, sample.read).await;
    assert_eq!(waiting.status, Status::WaitingForInput, "{waiting:?}");
    session.input("ho b\n".to_owned(), false).await.expect("something reads");
    let read = session.wait(None, LONG, 1000).await.expect("an answer");
    assert_eq!(line(&read), sample.read_gives);
    // Given beforehand.
    let request = EvalRequest { stdin: Some("ho b\n".to_owned()), wait: LONG, ..EvalRequest::new(sample.read) };
    assert_eq!(line(&session.eval(request).await.expect("an answer")), sample.read_gives);

    // Interrupts, and the next result is right.
    assert_eq!(session.interrupt(1000).await.expect("an answer").outcome, InterruptOutcome::Idle);
    for endless in sample.endless {
        let begun = session.eval(EvalRequest { wait: Duration::from_millis(1), ..EvalRequest::new(*endless) }).await;
        assert!(!begun.expect("an answer").status.is_final(), "{endless}");
        until(&session, |state| state == SessionState::Running).await;
        let report = interrupt(profile, &session).await;
        assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{profile}: {endless}: {report:?}");
        assert_eq!(report.eval.expect("it ran").status, Status::Interrupted, "{endless}");
        assert_eq!(line(&eval(&session, sample.sum.0).await), sample.sum.1, "{profile}: after {endless}");
    }

    let exit = eval(&session, sample.exit).await;
    assert_eq!(exit.status, Status::Exited, "{exit:?}");
    until(&session, |state| state == SessionState::Exited).await;
    assert_eq!(session.info().reason.as_deref(), Some("it exited with status 3"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python() {
    let trace = "Traceback (most recent call last):\\n  File \\\"<eval 5>\\\", line 1, in <module>\\n    raise \
                 ValueError('é')\\nValueError: é\\n";
    check(
        "python",
        Sample {
            version: "3.",
            evaluations: &[
                ("1 + 1", r#"done | "" | "" = 2"#),
                ("def f(n):\n    return n * 2\n\nx = [f(n) for n in range(3)]\nx", r#"done | "" | "" = [0, 2, 4]"#),
                ("print('no newline', end='')", r#"done | "no newline" | """#),
                ("import sys; print('oops', file=sys.stderr)", r#"done | "" | "oops\n""#),
                ("raise ValueError('é')", &format!(r#"error | "" | "{trace}""#)),
                ("x = 'λ'; print(x, sum([1, 2])); _", r#"done | "λ 3\n" | "" = [0, 2, 4]"#),
                ("sys.stdout.buffer.write(b'\\xff\\x00'); None", "done | \"\u{fffd}\\0\" | \"\""),
                ("import os; os.system('echo child') and None", r#"done | "child\n" | "" = 0"#),
            ],
            read: "print('>', input('? '))",
            read_gives: r#"done | "? > ho b\n" | """#,
            endless: &[
                "while True: pass",
                "import time; time.sleep(1000)",
                "input()",
                "while True: print('flood')",
                "import subprocess; subprocess.run(['sleep', '1000'])",
                "try:\n    time.sleep(1000)\nfinally:\n    print('cleaned')",
            ],
            sum: ("20 + 22", r#"done | "" | "" = 42"#),
            exit: "exit(3)",
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node() {
    let trace = "RangeError: é\\n    at <eval 5>:1:7\\n";
    check(
        "node",
        Sample {
            version: "2",
            evaluations: &[
                ("1 + 1", r#"done | "" | "" = 2"#),
                ("function f(n) {\n  return n * 2;\n}\n\nconst x = [0, 1, 2].map(f);\nx", r#"done | "" | "" = [ 0, 2, 4 ]"#),
                ("process.stdout.write('no newline'); undefined", r#"done | "no newline" | """#),
                ("console.error('oops')", r#"done | "" | "oops\n""#),
                ("throw new RangeError('é')", &format!(r#"error | "" | "{trace}""#)),
                ("const y = 'λ'; console.log(y, 1 + 2); _", r#"done | "λ 3\n" | "" = [ 0, 2, 4 ]"#),
                ("process.stdout.write(Buffer.from([0xff, 0])); undefined", "done | \"\u{fffd}\\0\" | \"\""),
                (
                    "const { execSync } = require('child_process'); execSync('echo child', { stdio: 'inherit' }); undefined",
                    r#"done | "child\n" | """#,
                ),
            ],
            read: "const lines = require('readline').createInterface({ input: process.stdin });\n\
                   for await (const line of lines) { console.log('>', line); break }",
            read_gives: r#"done | "> ho b\n" | """#,
            endless: &[
                "for (;;);",
                "await new Promise(() => {})",
                "for (;;) await null",
                "await new Promise((done) => setTimeout(done, 1)); for (;;);",
                "setTimeout(() => { for (;;); }, 1); await new Promise(() => {})",
                "for (;;) console.log('flood')",
                "fs.readSync(0, Buffer.alloc(1))",
                "for await (const line of process.stdin);",
                "execSync('sleep 1000')",
                "try { await new Promise(() => {}) } finally { console.log('cleaned') }",
            ],
            sum: ("20 + 22", r#"done | "" | "" = 42"#),
            exit: "process.exit(3)",
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_awaits_outside_of_functions() {
    let session = session("python");
    let check = async |code: &str, expected: &str| assert_eq!(line(&eval(&session, code).await), expected, "{code}");
    check("import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n", r#"done | "" | """#).await;
    check("x = await f(20)\nx + await f(22)", r#"done | "" | "" = 42"#).await;
    check("[await f(n) async for n in (await f(n) for n in range(3))]", r#"done | "" | "" = [0, 1, 2]"#).await;
    check("asyncio.run(f(7))", r#"done | "" | "" = 7"#).await;
    let trace =
        "Traceback (most recent call last):\\n  File \\\"<eval 5>\\\", line 1, in <module>\\n    await f(1 / 0)\\n";
    let failed = eval(&session, "await f(1 / 0)").await;
    assert!(line(&failed).starts_with(&format!(r#"error | "" | "{trace}"#)), "{failed:?}");
    assert!(!failed.stderr.contains("asyncio") && failed.stderr.ends_with("ZeroDivisionError: division by zero\n"));

    // Tasks go on between evaluations.
    let ping =
        "event = asyncio.Event()\nasync def late():\n    await asyncio.sleep(0.05)\n    open(path, 'w').close()\n";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("late");
    check(&format!("path = {path:?}\n{ping}task = asyncio.create_task(late())\nawait f(1)"), r#"done | "" | "" = 1"#)
        .await;
    testkit::until("a task's file", || path.exists().then_some(()));
    check("task.done(), await task", r#"done | "" | "" = (True, None)"#).await;

    // An interrupt cancels the awaited code, whose `finally` runs.
    let endless = "try:\n    await asyncio.sleep(1000)\nfinally:\n    print('cleaned')";
    let begun = session.eval(EvalRequest { wait: Duration::from_millis(1), ..EvalRequest::new(endless) }).await;
    assert!(!begun.expect("an answer").status.is_final());
    until(&session, |state| state == SessionState::Running).await;
    let report = interrupt("python", &session).await;
    let stopped = report.eval.expect("it ran");
    assert_eq!((stopped.status, stopped.stdout.as_str()), (Status::Interrupted, "cleaned\n"), "{stopped:?}");
    check("await f(42)", r#"done | "" | "" = 42"#).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_names_modules_that_changed_after_their_import() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write("models.py", "A = 1");
    write("views.py", "import models");
    let session = session_in("python", folder.path());
    let notes = async |code: &str, value: &str| {
        let result = eval(&session, code).await;
        assert_eq!(result.value.as_deref(), Some(value), "{code}: {result:?}");
        result.notes.join("\n")
    };
    assert_eq!(notes("import models, views; models.A", "1").await, "");
    write("models.py", "A = 22");
    assert_eq!(
        notes("models.A", "1").await,
        "models changed on disk after it was imported; repl_reload loads the new version, and then the modules that import it."
    );
    assert_eq!(notes("models.A", "1").await, "");
    assert_eq!(notes("import importlib; importlib.reload(models).A", "22").await, "");
    write("models.py", "A = 333");
    write("views.py", "import models as m");
    assert!(notes("models.A", "22").await.starts_with("models, views changed on disk after they were imported;"));
    // A deleted module keeps its version, and one of the standard library is not the project's.
    std::fs::remove_file(folder.path().join("views.py")).expect("removed");
    assert_eq!(notes("import json; views.models.A", "22").await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_of_python_run_as_those_of_a_bare_one() {
    // The names in `__main__` show what the worker runs. A function of the session cannot reach a worker that is not forked.
    let code = "import math, multiprocessing, sys\n\
                def double(n): return 2 * n\n\n\
                for method in ('spawn', 'forkserver', 'fork'):\n    \
                    context = multiprocessing.get_context(method)\n    \
                    with context.Pool(1) as pool:\n        \
                        print(pool.map(math.sqrt, [4]))\n        \
                        print(pool.map(eval, ['sorted(vars(__import__(\"sys\").modules[\"__main__\"]))'])[0] if method != 'fork' else '')\n        \
                        print(pool.map(eval, ['__import__(\"os\").environ.get(\"HOB_CODE_FD\")']))\n    \
                    worker = context.Process(target=double, args=(1,)); worker.start(); worker.join(); print(worker.exitcode)\n\n";
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("lines"), code).expect("written");
    let lines = std::fs::File::open(folder.path().join("lines")).expect("written");
    let bare = std::process::Command::new("python3").arg("-i").stdin(lines).output().expect("it is installed");
    let bare = String::from_utf8_lossy(&bare.stdout).into_owned();
    let session = session_in("python", folder.path());
    let result = eval(&session, code).await;
    assert_eq!((result.status, result.stdout.as_str()), (Status::Done, bare.as_str()), "{result:?}");
    assert!(bare.starts_with("[2.0]\n") && bare.ends_with("\n0\n"), "{bare}");
    assert_eq!(result.stderr.matches("Can't get attribute 'double'").count(), 2, "{result:?}");
    assert!(!result.stderr.contains("hob"), "{result:?}");
    session.stop("done").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_points_at_what_failed_as_it_does_in_a_file() {
    let code = "page = '\u{c}'; x = 1\ny = 2; x / 0";
    let temp = tempfile::tempdir().expect("a directory");
    let file = temp.path().join("file.py");
    std::fs::write(&file, code).expect("room");
    let alone = std::process::Command::new("python3").arg(&file).output().expect("there");
    let shown = |trace: &str| trace.split_once(", line 2").expect("a place").1.to_owned();
    let session = session("python");
    let result = eval(&session, code).await;
    assert_eq!(shown(&result.stderr), shown(&String::from_utf8_lossy(&alone.stderr)));
    session.stop("done").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_says_where_the_syntax_is_wrong() {
    let session = session("python");
    let result = eval(&session, "x = 1\ny = (2 +\n").await;
    assert_eq!(result.status, Status::Error);
    let [diagnostic] = &result.diagnostics[..] else { panic!("{result:?}") };
    assert_eq!((diagnostic.line, diagnostic.source), (Some(2), Source::Interactive));
    let result = eval(&session, "len").await;
    assert_eq!(result.type_.as_deref(), Some("builtin_function_or_method"));
    session.stop("done").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_shows_a_long_value_within_the_budget_and_keeps_the_rest() {
    let session = session("python");
    // A value is cut if there is little room.
    let request = EvalRequest { wait: LONG, max_bytes: 100, ..EvalRequest::new("list(range(1000))") };
    let result = session.eval(request).await.expect("an answer");
    let value = result.value.expect("a value");
    assert!(value.starts_with("[0, 1, ") && value.ends_with(", 999]") && value.len() < 200, "{value}");
    let note =
        "100 of 4,890 bytes of the value are shown; repl_wait {\"eval\": 1, \"max_bytes\": 4890} shows it whole.";
    assert_eq!(result.notes.last().map(String::as_str), Some(note));
    // So is the text of an exception.
    let request = EvalRequest { wait: LONG, max_bytes: 100, ..EvalRequest::new("raise ValueError('x' * 3000)") };
    let failed = session.eval(request).await.expect("an answer");
    let text = failed.exception.expect("it failed");
    assert!(text.starts_with("ValueError: xx") && text.len() < 200, "{text}");
    assert!(
        failed.notes.last().is_some_and(|note| note.starts_with("100 of 3,012 bytes of the exception are shown")),
        "{:?}",
        failed.notes
    );
    let whole = session.wait(Some(result.eval), LONG, 12_000).await.expect("it is remembered");
    assert_eq!((whole.value.map(|value| value.len()), whole.notes.contains(&note.to_owned())), (Some(4890), false));
    // Long values are printed: then they are output, with exact counts.
    for code in ["import io; sys.stdout = io.StringIO(); list(range(100000))", "_"] {
        let code = format!("import sys\n{code}");
        let result = eval(&session, &code).await;
        let truncated = result.truncated.expect("it is long");
        assert_eq!((truncated.stdout.total, result.value, result.type_.as_deref()), (688_891, None, Some("list")));
    }
    assert_eq!(eval(&session, "'x' * 9998").await.value.map(|value| value.len()), Some(10_000));
    session.stop("done").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash() {
    check(
        "bash",
        Sample {
            version: "5.",
            evaluations: &[
                ("echo $((1 + 1))", r#"done | "2\n" | """#),
                ("for i in 1 2; do\n  echo \"$i\"\ndone\nx='a\\b'\n", r#"done | "1\n2\n" | """#),
                ("printf '%s' \"$x\"", r#"done | "a\\b" | """#),
                ("echo oops >&2", r#"done | "" | "oops\n""#),
                ("(exit 7)", r#"error | "" | """#),
                ("echo $?", r#"done | "7\n" | """#),
                ("cat <<X\nhëre\nX", r#"done | "hëre\n" | """#),
                ("printf '\\377\\0'", "done | \"\u{fffd}\\0\" | \"\""),
                ("echo 'unclosed", "error | \"\" | \"bash: unexpected EOF while looking for matching `''\\n\""),
                ("exec 3>&1 >/dev/null; echo lost; exec >&3; echo seen", r#"done | "seen\n" | """#),
            ],
            read: "printf '? '; read -r a b; echo \"> $a $b\"",
            read_gives: r#"done | "? > ho b\n" | """#,
            endless: &[
                "while :; do :; done",
                "sleep 1000",
                "read -r line",
                "while :; do echo flood; done",
                "sleep 1000 | cat",
                "f() { while :; do sleep 0.01; done; }; while :; do f; done",
                "cat",
            ],
            sum: ("echo $((20 + 22))", r#"done | "42\n" | """#),
            exit: "exit 3",
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_with_job_control_is_interrupted_and_spares_what_stands_behind() {
    let session = session("bash");
    eval(&session, "set -m; sleep 1000 & behind=$!").await;
    for code in ["sleep 1000", "sleep 1000 | cat", "while :; do sleep 0.01; done"] {
        let begun = session.eval(EvalRequest { wait: Duration::from_millis(1), ..EvalRequest::new(code) }).await;
        assert!(!begun.expect("an answer").status.is_final(), "{code}");
        until(&session, |state| state == SessionState::Running).await;
        let report = interrupt("bash", &session).await;
        assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{code}: {report:?}");
        let next = eval(&session, "kill -0 $behind && echo spared").await;
        assert_eq!((next.status, next.stdout.as_str()), (Status::Done, "spared\n"), "{code}: {next:?}");
    }
    session.stop("the test is over").await;
}

/// Interrupts at random times, some racing the natural end; each must leave the next result exactly right.
/// `HOB_STRESS_INTERRUPTS` raises the count, `HOB_STRESS_SEED` repeats a run.
async fn interrupted_at_random(profile: &str, prepare: &str, codes: &[&str], next: impl Fn(u64) -> (String, String)) {
    let setting = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let mut seed = setting("HOB_STRESS_SEED").unwrap_or(clock.as_nanos() as u64 | 1);
    println!("HOB_STRESS_SEED={seed}");
    let mut below = |bound: u64| {
        seed ^= seed >> 12;
        seed ^= seed << 25;
        seed ^= seed >> 27;
        (seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    };
    let session = session(profile);
    eval(&session, prepare).await;
    let (mut hit, mut missed) = (0, 0);
    for n in 0..setting("HOB_STRESS_INTERRUPTS").unwrap_or(40) {
        let code =
            codes[usize::try_from(below(codes.len() as u64)).expect("small")].replace("MS", &below(40).to_string());
        let running = session.eval(EvalRequest { wait: Duration::ZERO, ..EvalRequest::new(&code) }).await;
        let running = running.expect("taken");
        tokio::time::sleep(Duration::from_millis(below(40))).await; // sleeps: a random moment
        let report = interrupt(profile, &session).await;
        match report.outcome {
            InterruptOutcome::Interrupted => hit += 1,
            InterruptOutcome::Finished | InterruptOutcome::Idle => missed += 1,
            other => panic!("interrupt {n} of {code:?}: {other:?}"),
        }
        let ended = session.wait(Some(running.eval), LONG, 1000).await.expect("it is remembered");
        assert!(ended.status.is_final(), "{code:?}: {ended:?}");
        let (code_after, expected) = next(n);
        let after = eval(&session, &code_after).await;
        assert_eq!(line(&after), expected, "after interrupt {n} of {code:?}: {:?}", report.outcome);
        assert!(after.between.is_none(), "after {code:?}: {:?}", after.between);
    }
    println!("{profile}: {hit} hit a running evaluation, {missed} lost the race; 0 wrong next results");
    assert!(hit > missed, "{hit} of {}", hit + missed);
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_interrupted_at_random_long_run() {
    let codes = [
        "while True: pass",
        "while True: print('flood')",
        "input()",
        "time.sleep(1000)",
        "time.sleep(MS / 1000)",
        "sum(range(MS * 20000))",
        "subprocess.run(['sleep', '1000'])",
        "try:\n    time.sleep(1000)\nfinally:\n    print('cleaned')",
    ];
    let next = |n| {
        (format!("print('out{n}'); print('err{n}', file=sys.stderr); {n} + 1"), {
            format!("done | \"out{n}\\n\" | \"err{n}\\n\" = {}", n + 1)
        })
    };
    interrupted_at_random("python", "import sys, time, subprocess", &codes, next).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_interrupted_at_random_long_run() {
    let codes = [
        "while :; do :; done",
        "while :; do echo flood; done",
        "read -r line",
        "sleep 1000",
        "sleep 0.0MS",
        "sleep 1000 | cat",
        "for ((i = 0; i < MS * 1000; i++)); do :; done",
        "cat",
    ];
    let next = |n| (format!("echo out{n}; echo err{n} >&2"), format!("done | \"out{n}\\n\" | \"err{n}\\n\""));
    interrupted_at_random("bash", ":", &codes, next).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_interrupted_at_random_long_run() {
    let codes = [
        "for (;;);",
        "for (;;) console.log('flood')",
        "await new Promise(() => {})",
        "await new Promise((done) => setTimeout(done, MS)); for (;;);",
        "await new Promise((done) => setTimeout(done, MS))",
        "let sum = 0; for (let i = 0; i < MS * 100000; i++) sum += i;",
        "setTimeout(() => { for (;;); }); await new Promise(() => {})",
        "execSync('sleep 1000')",
        "for await (const line of process.stdin);",
        "try { await new Promise(() => {}) } finally { console.log('cleaned') }",
    ];
    let next = |n| {
        (format!("console.log('out{n}'); console.error('err{n}'); {n} + 1"), {
            format!("done | \"out{n}\\n\" | \"err{n}\\n\" = {}", n + 1)
        })
    };
    interrupted_at_random("node", "const { execSync } = require('child_process')", &codes, next).await;
}

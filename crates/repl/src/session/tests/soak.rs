//! Random interrupts of all kinds of programs in each REPL: programs that clean up, collect garbage, flood, catch
//! everything, sleep, read, wait for children, or exit. Every answer is checked against the program's output and the
//! kernel's state.
//!
//! Sized for every run; `HOB_STRESS_INTERRUPTS` raises the count, `HOB_STRESS_BUSY` adds busy loops, `HOB_STRESS_SEED`
//! repeats a run, `HOB_STRESS_ONLY` selects the programs that contain a text.

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::time::Instant;

use super::ends::bash;
use super::interrupts::python;
use super::stress::{Random, count};
use super::*;
use crate::result::Status;
use crate::session::{InterruptOutcome, InterruptReport};

/// The program to interrupt.
pub(super) struct Program {
    code: &'static str,
    /// The input that the program asks for.
    input: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ends when interrupted, or on its own.
    Plain,
    /// Prints `cleaned` before it ends, once it has printed `begun`.
    Cleans,
    /// Ignores the interrupt and runs to its own end, where it prints `end`.
    Deaf,
    /// Catches the interrupt and asks for input; the line makes it end.
    Asks(&'static str),
    /// Collects garbage without a pause, so that it may not see the signal during the whole test.
    Collects,
}

use Kind::{Asks, Cleans, Collects, Deaf, Plain};

pub(super) const fn plain(code: &'static str) -> Program {
    Program { code, input: "", kind: Plain }
}

pub(super) const fn program(kind: Kind, code: &'static str) -> Program {
    Program { code, input: "", kind }
}

const fn reads(code: &'static str) -> Program {
    Program { code, input: "some\n", kind: Plain }
}

/// The programs for GHCi. `MS` stands for a number up to 400, `SEC` for the same time in seconds.
const GHCI: &[Program] = &[
    plain("sum [1..]"),
    plain("mapM_ print [1..]"),
    plain("getLine"),
    reads("interact id"),
    reads("getContents >>= mapM_ putStrLn . lines"),
    plain("threadDelay 100000000"),
    plain("threadDelay MS000"),
    plain("print (sum [1..MS0000])"),
    plain("callCommand \"sleep 100\""),
    plain("callCommand \"sleep SEC\""),
    plain("callCommand \"trap 'sleep SEC; exit 3' INT; sleep 100\""),
    plain("let f = do\n      hPutStrLn stderr \"tick\"\n      threadDelay 500\n      f\nf"),
    program(Collects, "forever performMajorGC"),
    plain("replicateM_ 3 performMajorGC"),
    plain("print (length (show (product [1 .. 20000 :: Integer])))"),
    plain("x = 1\nthreadDelay MS00\ny = 2\nthreadDelay MS00\nprint (x + y)"),
    plain("hPutStrLn stderr \"Interrupted.\" >> threadDelay MS000"),
    program(
        Cleans,
        "bracket_ (putStrLn \"begun\") (threadDelay MS000 >> putStrLn \"cleaned\") (threadDelay 100000000)",
    ),
    program(
        Cleans,
        "(putStrLn \"begun\" >> mapM_ (\\n -> evaluate (sum [1 .. n])) [1000 ..]) `finally` (print (sum [1 .. MS000]) >> putStrLn \"cleaned\")",
    ),
    program(
        Cleans,
        "(putStrLn \"begun\" >> threadDelay 100000000) `finally` (performMajorGC >> performMajorGC >> putStrLn \"cleaned\")",
    ),
    program(
        Cleans,
        "(putStrLn \"begun\" >> callCommand \"sleep 100\") `finally` (callCommand \"sleep SEC\" >> putStrLn \"cleaned\")",
    ),
    program(
        Deaf,
        "let deaf = (evaluate (sum [1 .. 20000]) >> return ()) `catch` \\e -> const (return ()) (e :: SomeException)\nmapM_ (const deaf) [1 .. MS] >> putStrLn \"end\"",
    ),
    program(
        Deaf,
        "replicateM_ MS (threadDelay 1000 `catch` \\e -> const (return ()) (e :: SomeException)) >> putStrLn \"end\"",
    ),
];

const PYTHON: &[Program] = &[
    plain("while True: pass"),
    plain("while True: print('flood')"),
    plain("input()"),
    reads("for line in sys.stdin: print(line)"),
    plain("time.sleep(1000)"),
    plain("time.sleep(SEC)"),
    plain("print(sum(range(MS * 5000)))"),
    plain("subprocess.run(['sleep', '1000'])"),
    plain("subprocess.run(['sleep', 'SEC'])"),
    plain("[[n] for n in range(3000000)] and gc.collect()"),
    plain("print('Interrupted.', file=sys.stderr); time.sleep(SEC)"),
    plain("try:\n    time.sleep(SEC)\nexcept KeyboardInterrupt:\n    raise ValueError('on purpose')"),
    plain("worker = threading.Thread(target=time.sleep, args=(SEC,))\nworker.start()\nworker.join()"),
    program(
        Cleans,
        "try:\n    print('begun')\n    time.sleep(1000)\nfinally:\n    time.sleep(SEC)\n    print('cleaned')",
    ),
    program(
        Cleans,
        "try:\n    print('begun')\n    while True: pass\nfinally:\n    sum(range(MS * 10000))\n    print('cleaned')",
    ),
    program(
        Cleans,
        "try:\n    print('begun')\n    subprocess.run(['sleep', '1000'])\nfinally:\n    subprocess.run(['sleep', 'SEC'])\n    print('cleaned')",
    ),
    program(
        Deaf,
        "for _ in range(MS):\n    try:\n        time.sleep(0.001)\n    except BaseException:\n        pass\nprint('end')",
    ),
    program(
        Deaf,
        "over = time.monotonic() + SEC\nwhile time.monotonic() < over:\n    try:\n        sum(range(1000))\n    except BaseException:\n        pass\nprint('end')",
    ),
    program(Asks("q\n"), "import pdb; pdb.set_trace()\nx = 1"),
];

const NODE: &[Program] = &[
    plain("for (;;);"),
    plain("for (;;) console.log('flood')"),
    plain("fs.readSync(0, Buffer.alloc(1))"),
    reads("for await (const part of process.stdin) console.log(`${part}`)"),
    plain("await sleep(100000)"),
    plain("await sleep(MS)"),
    plain("for (;;) await null"),
    plain("await sleep(MS); for (;;);"),
    plain("setTimeout(() => { for (;;); }); await sleep(100000)"),
    plain("let sum = 0; for (let i = 0; i < MS * 100000; i++) sum += i; console.log(sum)"),
    plain("execSync('sleep 1000')"),
    plain("const child = spawn('sleep', ['1000']); await new Promise((done) => child.on('exit', done))"),
    plain("garbage = Array.from({ length: 300000 }, (_, n) => [n]); garbage.length"),
    program(
        Cleans,
        "try { console.log('begun'); await sleep(100000) } finally { await sleep(MS); console.log('cleaned') }",
    ),
    program(Deaf, "for (let i = 0; i < MS; i++) { try { await sleep(1) } catch {} }\nconsole.log('end')"),
];

const BASH: &[Program] = &[
    plain("while :; do :; done"),
    plain("while :; do echo flood; done"),
    plain("read -r line"),
    plain("cat"),
    plain("sleep 1000"),
    plain("sleep SEC"),
    plain("sleep 1000 | cat"),
    plain("for ((i = 0; i < MS * 100; i++)); do :; done"),
    plain("while :; do sleep 0.01; done"),
    plain("bash -c 'trap \"sleep SEC; exit 3\" INT; sleep 1000'"),
    plain("(exit 130); sleep SEC"),
    plain("echo Interrupted. >&2; sleep SEC"),
    plain("x=$(sleep 1000)"),
    program(Cleans, "(trap 'sleep SEC; echo cleaned; exit 130' INT; echo begun; while :; do sleep 1000; done)"),
    program(
        Cleans,
        "(trap 'for ((i = 0; i < MS * 100; i++)); do :; done; echo cleaned; exit 130' INT; echo begun; while :; do :; done)",
    ),
    program(Deaf, "(trap '' INT; sleep SEC; echo end)"),
    program(Deaf, "trap '' INT; sleep SEC; trap - INT; echo end"),
];

/// Busy loops. They end with the test, and on their own if the test is killed.
struct Busy(Vec<Child>);

impl Busy {
    fn loops() -> Busy {
        let test = std::process::id().to_string();
        let one = |_| Command::new("sh").args(["-c", "while kill -0 $0; do :; done", &test]).spawn().expect("a shell");
        Busy((0..count("HOB_STRESS_BUSY", 0)).map(one).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have already exited.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the processes of a session, and the processor time of their threads in nanoseconds.
fn processes(leader: u32) -> (Vec<u32>, u64) {
    let mut found = (Vec::new(), 0);
    for entry in std::fs::read_dir("/proc").expect("procfs").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
        if fields.get(3).and_then(|session| session.parse().ok()) != Some(leader) || fields[0] == "Z" {
            continue;
        }
        found.0.push(pid);
        for task in std::fs::read_dir(entry.path().join("task")).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            found.1 += text.split(' ').next().and_then(|had| had.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    found
}

/// Returns why the session is not ready although it reports so.
async fn is_not_ready(session: &Handle) -> Option<String> {
    const WINDOW: Duration = Duration::from_millis(40);
    let info = session.info();
    let leader = info.pid.filter(|_| info.state == SessionState::Idle);
    let Some(leader) = leader else { return Some(format!("it is {}", info.state.name())) };
    let begun = Instant::now();
    loop {
        let (left, before) = processes(leader);
        if left.len() > 1 {
            let names =
                left.iter().map(|pid| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default());
            return Some(format!("left: {:?}", names.collect::<Vec<_>>()));
        }
        tokio::time::sleep(WINDOW).await; // sleeps: what it computes meanwhile is looked at
        let had = processes(leader).1.saturating_sub(before);
        if u128::from(had) < WINDOW.as_nanos() / 2 {
            return None;
        }
        // GHC collects garbage after a moment of idle time.
        if begun.elapsed() > Duration::from_secs(5) {
            return Some(format!("it computes: {had} ns in {WINDOW:?}"));
        }
    }
}

/// Returns why an answer is wrong, if it is.
fn is_untrue(kind: Kind, outcome: InterruptOutcome, ended: &EvalResult) -> Option<String> {
    let printed = |word: &str| ended.stdout.lines().any(|line| line == word);
    let interrupted = ended.status == Status::Interrupted;
    let wrong = match outcome {
        InterruptOutcome::Interrupted if !interrupted => "it was not interrupted",
        InterruptOutcome::Finished if interrupted => "it was interrupted",
        InterruptOutcome::NotYet if !matches!(kind, Asks(_)) => "it has not ended",
        // While GHC collects garbage it sees no signal, and of two threads the one that collects again runs first.
        InterruptOutcome::Uninterruptible if kind == Collects && ended.cpu_ms.is_some_and(|had| had > 1000) => {
            return None;
        }
        InterruptOutcome::Uninterruptible | InterruptOutcome::Ended => "no program does that",
        _ if kind == Cleans && printed("begun") && !printed("cleaned") => "the cleanup was cut off",
        _ if kind == Deaf && ended.status == Status::Done && !printed("end") => "it did not come to its end",
        _ if !ended.status.is_final() => "it runs",
        _ => return None,
    };
    Some(wrong.to_owned())
}

/// Interrupts these programs at random moments. `next` is an evaluation and its result.
pub(super) async fn interrupts(
    name: &str,
    session: Handle,
    programs: &[Program],
    next: impl Fn(u64) -> (String, String),
) {
    let mut random = Random::seeded();
    let _busy = Busy::loops();
    let count = count("HOB_STRESS_INTERRUPTS", 20);
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut wrong, mut leftovers, mut untrue, mut again, mut took) = (0, 0, 0, 0, Vec::new());
    let shell = name == "bash";
    let only = std::env::var("HOB_STRESS_ONLY").unwrap_or_default();
    let programs: Vec<&Program> = programs.iter().filter(|program| program.code.contains(&only)).collect();
    for n in 0..count {
        let program = programs[usize::try_from(random.below(programs.len() as u64)).expect("small")];
        let ms = random.below(400);
        let seconds = format!("{:.3}", ms as f64 / 1000.0);
        let code = program.code.replace("SEC", &seconds).replace("MS", &(ms + 1).to_string());
        let request = EvalRequest { wait: Duration::ZERO, ..EvalRequest::new(&code) };
        let stdin = (!program.input.is_empty()).then(|| program.input.to_owned());
        let running = session.eval(EvalRequest { stdin, ..request }).await.expect("taken");
        // A third come immediately, while the code is read and begun; the others up to beyond the end of many.
        let delay = if random.below(3) == 0 { random.below(40) } else { random.below(400) };
        tokio::time::sleep(Duration::from_millis(delay)).await; // sleeps: the moment is what is tested
        if matches!(program.kind, Asks(_)) {
            session.wait(Some(running.eval), LONG, 100).await.expect("it asks");
        }
        let case = format!("{name}: interrupt {n} of {code:?} after {delay} ms");
        let report = session.interrupt(20_000).await.expect("an answer");
        took.push(report.took);
        if let (Asks(line), InterruptOutcome::NotYet) = (program.kind, report.outcome) {
            session.input_to(Some(running.eval), line.to_owned(), false).await.expect("it reads");
        }
        *outcomes.entry(outcome_name(report.outcome)).or_default() += 1;
        let mut report = report;
        // A signal is lost on a shell, GHCi's `callCommand` or Node's `execSync`, and its child until the child has
        // executed its program; and GHCi itself hangs after a signal that comes as a statement ends. Then the answer reports that the
        // evaluation continues, and the interrupt is repeated.
        let can_lose = shell
            || name == "ghci" && !matches!(program.kind, Asks(_) | Collects)
            || program.code.starts_with("execSync");
        while can_lose && matches!(report.outcome, InterruptOutcome::NotYet | InterruptOutcome::Uninterruptible) {
            let runs = report.eval.as_ref().is_some_and(|eval| eval.eval == running.eval && !eval.status.is_final());
            assert!(runs, "{case}: {report:?}");
            again += 1;
            report = match session.interrupt_one(Some(running.eval), View::all(20_000)).await {
                Ok(report) => report,
                // The evaluation has ended meanwhile.
                Err(_) => {
                    InterruptReport { outcome: InterruptOutcome::Idle, eval: None, took: Duration::ZERO, rest: None }
                }
            };
        }
        let mut ended = session.wait(Some(running.eval), LONG, 20_000).await.expect("it is remembered");
        // Even without hob, one in fifty such loops with a nursery of this size handles its signal only after many
        // seconds.
        while program.kind == Collects && !ended.status.is_final() {
            again += 1;
            let _ = session.interrupt_one(Some(running.eval), View::all(20_000)).await;
            ended = session.wait(Some(running.eval), LONG, 20_000).await.expect("it is remembered");
        }
        if let Some(why) = is_untrue(program.kind, report.outcome, &ended) {
            println!("{case}: {:?}, {why}: {ended:?}", report.outcome);
            untrue += 1;
        }
        if let (None, Some(why)) = (&report.rest, is_not_ready(&session).await) {
            println!("{case}: {:?} {:?}, {why}", report.outcome, report.rest);
            leftovers += 1;
        }
        let (code_after, expected) = next(n);
        let after = eval(&session, &code_after).await;
        // The library that runs commands complains from a separate thread about interrupted children.
        let spilt = after.between.is_some() && !code.contains("callCommand");
        if with_value(&after) != expected || spilt {
            println!("{case}: {:?}, then {after:?}", report.outcome);
            wrong += 1;
        }
        assert!(session.is_alive(), "{case}: the session is lost: {:?}", session.info().reason);
    }
    took.sort();
    let at = |part: usize| took[(took.len() - 1) * part / 100];
    println!(
        "{name}: {count} interrupts, {outcomes:?}; {wrong} wrong next results, {leftovers} leftovers, {untrue} untrue answers, \
         0 sessions lost, {again} asked again; p50 {:?}, p95 {:?}, max {:?}",
        at(50),
        at(95),
        at(100)
    );
    assert_eq!((wrong, leftovers, untrue), (0, 0, 0), "see above");
    session.stop("the test is over").await;
}

fn outcome_name(outcome: InterruptOutcome) -> &'static str {
    match outcome {
        InterruptOutcome::Idle | InterruptOutcome::Withdrawn => "had ended",
        InterruptOutcome::Interrupted => "interrupted",
        InterruptOutcome::Finished => "finished",
        InterruptOutcome::NotYet => "asked",
        InterruptOutcome::Uninterruptible => "uninterruptible",
        InterruptOutcome::Ended => "lost",
    }
}

fn with_value(result: &EvalResult) -> String {
    let value = result.value.as_ref().map_or(String::new(), |value| format!(" = {value}"));
    line(result) + &value
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ghci_at_random_long_run() {
    let session = ghci();
    let modules =
        ["Control.Concurrent", "Control.Exception", "Control.Monad", "System.IO", "System.Mem", "System.Process"];
    eval(&session, &modules.map(|module| format!("import {module}\n")).concat()).await;
    // A collection takes a moment.
    let heap = "import qualified Data.Map.Strict as M\nheap = M.fromList [(n, show n) | n <- [1 .. 200000 :: Int]]\nlength (concat (M.elems heap))";
    assert_eq!(eval(&session, heap).await.status, Status::Done);
    let next = |n| {
        let code = format!("putStrLn \"out{n}\" >> hPutStrLn stderr \"err{n}\"");
        (code, format!("done | \"out{n}\\n\" | \"err{n}\\n\""))
    };
    interrupts("ghci", session, GHCI, next).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_at_random_long_run() {
    let session = python();
    eval(&session, "import gc, subprocess, sys, threading, time\nheap = [[n] for n in range(1000000)]").await;
    let next = |n| {
        let code = format!("print('out{n}'); print('err{n}', file=sys.stderr); {n} + 1");
        (code, format!("done | \"out{n}\\n\" | \"err{n}\\n\" = {}", n + 1))
    };
    interrupts("python", session, PYTHON, next).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_at_random_long_run() {
    let session = super::profiles::session_in("node", Path::new("/"));
    let prepare = "const { execSync, spawn } = require('child_process');\n\
                   const sleep = (ms) => new Promise((done) => setTimeout(done, ms));\n\
                   const heap = Array.from({ length: 1000000 }, (_, n) => [n]); let garbage";
    eval(&session, prepare).await;
    let next = |n| {
        let code = format!("console.log('out{n}'); console.error('err{n}'); {n} + 1");
        (code, format!("done | \"out{n}\\n\" | \"err{n}\\n\" = {}", n + 1))
    };
    interrupts("node", session, NODE, next).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_at_random_long_run() {
    let next = |n: u64| (format!("echo out{n}; echo err{n} >&2"), format!("done | \"out{n}\\n\" | \"err{n}\\n\""));
    let session = bash();
    eval(&session, ":").await;
    interrupts("bash", session, BASH, next).await;
}

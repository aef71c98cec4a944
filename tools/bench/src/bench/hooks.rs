//! `cargo xtask bench hooks`: the delay of an agent at each of its events, compared with an empty program and with
//! one-line hooks in Node and Python, in one interleaved run. Each contender starts as an agent starts it: a process
//! with the event on its standard input.

use std::io::{Read, Write};
use std::ops::Add;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::setup::{self, Tools};
use taskkit::until;
use taskkit::workspace::read;

use super::echo::daemon_pid;
use super::procfs::Memory;
use super::report::{self, Figure, Page, Target};
use super::{Bench, Samples, programs};

const PAGE: Page = Page {
    file: "docs/generated/bench-hooks.md",
    task: "cargo xtask bench hooks",
    about: "A run starts a process with an event of Claude Code on its standard input, and ends when the process has ended. The \
            floor is an empty Rust program with the same input. Node and Python parse the event and print nothing. They \
            apply no policy; for hob a policy of 100 rules is in force in all runs. A decision is the time that the daemon \
            writes in the journal of hooks: from the arrival of the event until its line. It includes reading the policy \
            file, parsing the shell text with the grammar of Bash and resolving the files that the text opens. Targets are \
            multiples of the floor, because the speed of the machine differs by a factor of two between days. They were set \
            where the floor took 0.77 ms: a run 2 ms above it, a decision 0.5 ms with 100 rules and 1 ms with 1,000, a large \
            event 5 ms above its floor, and a start 30 ms above it.",
};

/// A one-line hook.
const NODE: &str = "let s='';process.stdin.on('data',d=>s+=d).on('end',()=>{JSON.parse(s)})";
const PYTHON: &str = "import json,sys;json.load(sys.stdin)";

/// Number of sessions with concurrent events.
const SESSIONS: usize = 50;
/// Size of the large event in bytes.
const LARGE: usize = 1 << 20;

/// Measures everything.
pub(super) fn run(is_quick: bool) -> Result<()> {
    let tools = setup::tests()?;
    let bench = Bench::new(programs()?, is_quick)?;
    let mut figures = Vec::new();
    println!("bench: runs …");
    policy(&bench, 100)?;
    started(&bench)?;
    let (floor, of_runs) = runs(&bench, &tools)?;
    figures.extend(of_runs);
    println!("bench: decisions …");
    figures.extend(decisions(&bench, floor)?);
    println!("bench: a large event …");
    figures.extend(large(&bench)?);
    println!("bench: {SESSIONS} sessions …");
    figures.extend(crowd(&bench)?);
    println!("bench: memory …");
    figures.push(memory(&bench)?);
    println!("bench: cold …");
    figures.extend(cold(&bench)?);
    bench.stop()?;
    report::publish(&PAGE, &figures, !is_quick).map(drop)
}

/// Returns a policy of `count` rules, none of which matches these events.
fn policy(bench: &Bench, rules: usize) -> Result<()> {
    let rule = |number: usize| {
        format!(
            "[[rule]]\nid = \"r{number}\"\ntool = \"shell\"\ncommand = [\"program{number} push --force*\", \"tool{number} * +*\"]\n\
             decide = \"deny\"\nreason = \"number {number}\"\n"
        )
    };
    let text: String = (0..rules).map(rule).collect();
    std::fs::write(bench.dir().join("hob-policy.toml"), text).context("could not write the policy")
}

/// Waits until the daemon runs and has decided.
fn started(bench: &Bench) -> Result<()> {
    read(&mut bench.hob(&["questions"]))?;
    for _ in 0..20 {
        hook(bench, &event("s", "git push origin main && cargo test")).map(drop)?;
    }
    Ok(())
}

/// Returns the event as one line, in Claude Code's form.
fn event(session: &str, command: &str) -> Vec<u8> {
    json!({
        "session_id": session, "transcript_path": "/tmp/transcript.jsonl", "cwd": "/tmp", "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t1",
        "tool_input": { "command": command, "description": "Push the branch" },
    })
    .to_string()
    .add("\n")
    .into_bytes()
}

/// Measures a program from start to end with this input. It must succeed and print nothing.
fn timed(command: &mut Command, input: &[u8]) -> Result<Duration> {
    let begun = Instant::now();
    let mut child = spawned(command)?;
    // A program that reads nothing may have ended.
    let _ = child.stdin.take().context("it has no stdin")?.write_all(input);
    let mut said = Vec::new();
    child.stdout.take().context("it has no stdout")?.read_to_end(&mut said).context("its output broke")?;
    let status = child.wait().context("could not wait for it")?;
    let took = begun.elapsed();
    if !status.success() || !said.is_empty() {
        bail!("{status}: {}", String::from_utf8_lossy(&said));
    }
    Ok(took)
}

fn spawned(command: &mut Command) -> Result<Child> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("could not start it")
}

fn hook_command(bench: &Bench) -> Command {
    bench.hob(&["hook", "PreToolUse", "--agent", "claude", "--fail", "closed"])
}

fn hook(bench: &Bench, input: &[u8]) -> Result<Duration> {
    timed(&mut hook_command(bench), input).context("hob hook")
}

/// Runs each of them once, in turn. Also returns the median of the floor in microseconds.
fn runs(bench: &Bench, tools: &Tools) -> Result<(f64, Vec<Figure>)> {
    let [mut floor, mut ours, mut node, mut python]: [Samples; 4] = Default::default();
    let input = event("s", "git push origin main && cargo test");
    let line = |program: &Path, args: [&str; 2]| {
        let mut command = Command::new(program);
        command.args(args).current_dir(bench.dir());
        command
    };
    let count = bench.times(1000);
    for round in 0..count {
        floor.push(timed(&mut bench.program("floor-empty"), &input)?);
        ours.push(hook(bench, &input)?);
        if round % 10 == 0 {
            node.push(timed(&mut line(&tools.node, ["-e", NODE]), &input).context("node")?);
            python.push(timed(&mut line(&tools.python, ["-c", PYTHON]), &input).context("python")?);
        }
    }
    let figure = |what: &str, samples: &Samples, percent, target| Figure {
        what: what.to_owned(),
        unit: "ms",
        value: samples.percentile(percent) / 1000.0,
        floor: Some(("empty program", floor.percentile(percent) / 1000.0)),
        target,
    };
    let figures = vec![
        figure("a run of `hob hook`, warm daemon, p50", &ours, 50, Some(Target::MaxTimesFloor(3.6))),
        figure("a run of `hob hook`, warm daemon, p99", &ours, 99, Some(Target::MaxAboveFloor(10.0))),
        figure("a hook in a line of Node, p50", &node, 50, None),
        figure("a hook in a line of Python, p50", &python, 50, None),
    ];
    Ok((floor.percentile(50), figures))
}

/// Measures the daemon's own records of its decisions, with 100 rules and with 1,000.
fn decisions(bench: &Bench, floor: f64) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (rules, target) in [(100, 0.65), (1000, 1.3)] {
        policy(bench, rules)?;
        let count = bench.times(500);
        for round in 0..count {
            hook(bench, &event("s", &format!("cd sub && git push origin topic{round} | tee out"))).map(drop)?;
        }
        let mut samples = Samples::default();
        for line in journal(bench, count)? {
            samples.push(Duration::from_micros(line["micros"].as_u64().context("a line without a time")?));
        }
        for percent in [50, 99] {
            let (floor, target) = match percent {
                50 => (Some(("empty program", floor)), Some(Target::MaxTimesFloor(target))),
                _ => (None, None),
            };
            let what = format!("a decision with {rules} rules, in the daemon, p{percent}");
            figures.push(Figure { what, unit: "µs", value: samples.percentile(percent), floor, target });
        }
    }
    policy(bench, 100)?;
    Ok(figures)
}

fn journal(bench: &Bench, last: usize) -> Result<Vec<Value>> {
    let text = read(&mut bench.hob(&["hooks", "log", "--json", "--last", &last.to_string()]))?;
    let lines = serde_json::Deserializer::from_str(&text).into_iter().collect::<Result<Vec<Value>, _>>();
    lines.context("the journal of hooks is no JSON")
}

/// Measures an event of one mebibyte.
fn large(bench: &Bench) -> Result<Vec<Figure>> {
    let [mut floor, mut ours]: [Samples; 2] = Default::default();
    let mut payload: Value = serde_json::from_slice(&event("s", "true"))?;
    payload["tool_name"] = "Write".into();
    payload["tool_input"] = json!({ "file_path": "src/large.rs", "content": "let x = 1;\n".repeat(LARGE / 12) });
    let input = payload.to_string().add("\n").into_bytes();
    for _ in 0..bench.times(100) {
        floor.push(timed(&mut bench.program("floor-empty"), &input)?);
        ours.push(hook(bench, &input)?);
    }
    Ok(vec![Figure {
        what: format!("a run with an event of {} KiB, p50", input.len() / 1024),
        unit: "ms",
        value: ours.percentile(50) / 1000.0,
        floor: Some(("empty program", floor.percentile(50) / 1000.0)),
        target: Some(Target::MaxTimesFloor(2.0)),
    }])
}

/// Measures all sessions at once while one of them waits for a person.
fn crowd(bench: &Bench) -> Result<Vec<Figure>> {
    let rule = "[[rule]]\nid = \"person\"\non = \"tool_before\"\ncommand = \"release\"\ndecide = \"person\"\n";
    std::fs::write(bench.dir().join("hob-policy.toml"), rule).context("could not write the policy")?;
    read(&mut bench.hob(&["trust", "--yes"]))?;
    let mut watch = bench.hob(&["questions", "--watch"]);
    let mut watch = watch.stdin(Stdio::null()).stdout(Stdio::null()).spawn().context("could not watch")?;
    let mut command = bench.hob(&["hook", "PreToolUse", "--agent", "claude", "--person", "600"]);
    let is_watched = || -> Result<Option<()>> {
        let status: Value = serde_json::from_str(&read(&mut bench.hob(&["status", "--json"]))?)?;
        Ok((status["ask"]["watching"] == 1).then_some(()))
    };
    let waiting = until("the watching person", is_watched).and_then(|()| {
        let mut child = spawned(&mut command)?;
        child.stdin.take().context("it has no stdin")?.write_all(&event("person", "release"))?;
        until("the question", || Ok(read(&mut bench.hob(&["questions"]))?.contains("release").then_some(())))?;
        Ok(child)
    });
    let waiting = waiting.and_then(|child| Ok((child, crowds(bench)?)));
    let (mut child, figures) = match waiting {
        Ok(done) => done,
        Err(error) => {
            let _ = watch.kill();
            let _ = watch.wait();
            return Err(error);
        }
    };
    let is_waiting = child.try_wait().context("could not look at the one that waits")?.is_none();
    for child in [&mut child, &mut watch] {
        let _ = child.kill();
        child.wait().context("could not wait for it")?;
    }
    policy(bench, 100)?;
    if !is_waiting {
        bail!("the one that was to wait for a person did not");
    }
    Ok(figures)
}

fn crowds(bench: &Bench) -> Result<Vec<Figure>> {
    let of_program = |program: &(dyn Fn() -> Command + Sync)| -> Result<Samples> {
        let mut samples = Samples::default();
        for _ in 0..bench.times(20) {
            let barrier = Barrier::new(SESSIONS);
            let took: Result<Vec<Duration>> = std::thread::scope(|scope| {
                let runs: Vec<_> = (0..SESSIONS)
                    .map(|session| {
                        let barrier = &barrier;
                        scope.spawn(move || {
                            let input = event(&format!("s{session}"), "git status");
                            barrier.wait();
                            timed(&mut program(), &input)
                        })
                    })
                    .collect();
                runs.into_iter().map(|run| run.join().expect("a run does not panic")).collect()
            });
            took?.into_iter().for_each(|took| samples.push(took));
        }
        Ok(samples)
    };
    let floor = of_program(&|| bench.program("floor-empty"))?;
    let ours = of_program(&|| hook_command(bench))?;
    let figure = |percent| Figure {
        what: format!("{SESSIONS} sessions at once, one more waits for a person, p{percent}"),
        unit: "ms",
        value: ours.percentile(percent) / 1000.0,
        floor: Some(("as many empty programs", floor.percentile(percent) / 1000.0)),
        target: None,
    };
    Ok(vec![figure(50), figure(99)])
}

/// Measures the client while it waits for a stopped daemon.
fn memory(bench: &Bench) -> Result<Figure> {
    let daemon = daemon_pid(bench)?;
    let signal = |name: &str| -> Result<()> { read(Command::new("kill").args([name, &daemon.to_string()])).map(drop) };
    signal("-STOP")?;
    let waits = || -> Result<f64> {
        let mut command = bench.hob(&["hook", "PreToolUse", "--agent", "claude", "--deadline", "2"]);
        let mut child = spawned(&mut command)?;
        child.stdin.take().context("it has no stdin")?.write_all(&event("s", "true"))?;
        let pid = child.id();
        // It has connected, or is about to.
        std::thread::sleep(Duration::from_millis(300));
        let memory = Memory::read(pid)?.anonymous;
        child.wait().context("could not wait for it")?;
        Ok(memory)
    };
    let value = waits();
    signal("-CONT")?;
    Ok(Figure {
        what: "the client while it waits, anonymous memory".to_owned(),
        unit: "MiB",
        value: value?,
        floor: None,
        target: Some(Target::Max(1.0)),
    })
}

/// Measures the first event, which starts the daemon.
fn cold(bench: &Bench) -> Result<Vec<Figure>> {
    let [mut floor, mut ours]: [Samples; 2] = Default::default();
    let input = event("s", "git status");
    for _ in 0..bench.times(30) {
        bench.stop()?;
        floor.push(timed(&mut bench.program("floor-empty"), &input)?);
        ours.push(hook(bench, &input)?);
    }
    Ok(vec![Figure {
        what: "a run that starts the daemon, p50".to_owned(),
        unit: "ms",
        value: ours.percentile(50) / 1000.0,
        floor: Some(("empty program", floor.percentile(50) / 1000.0)),
        target: Some(Target::MaxTimesFloor(32.0)),
    }])
}

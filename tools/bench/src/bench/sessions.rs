//! Concurrent sessions: cost of an evaluation while seven other sessions evaluate or one of them restarts, and the time
//! from a session's start to its first prompt, compared with GHCi on bare pipes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::echo::Contender;
use super::report::{Figure, Target};
use super::{Bench, Samples, median};
use crate::client::text;
use crate::pipes::Pipes;

/// The seven other sessions: profile, and code that runs long without using the processor.
const OTHERS: [(&str, &str); 7] = [
    ("ghci", "Control.Concurrent.threadDelay 1000000000"),
    ("python", "import time; time.sleep(1000)"),
    ("bash", "sleep 1000"),
    ("python", "input()"),
    ("bash", "read line"),
    ("ghci", "getLine"),
    ("bash", "sleep 1000"),
];
/// Number of evaluations in one state before the turn of the next.
const TURN: usize = 100;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let mut figures = concurrent(bench)?;
    // Eight sessions are the limit, so they have to end first.
    bench.stop()?;
    figures.extend(first_prompt(bench)?);
    Ok(figures)
}

/// Evaluates in one session: next to idle ones, while the others evaluate, and while another one restarts continuously.
fn concurrent(bench: &Bench) -> Result<Vec<Figure>> {
    let mut agent = Contender::front_end(&mut bench.hob(&["mcp"]))?;
    let mut others = Contender::front_end(&mut bench.hob(&["mcp"]))?;
    agent.call("repl_start", json!({ "session": "one", "profile": "bash", "wait_ms": 50_000 }))?;
    for (n, (profile, _)) in OTHERS.iter().enumerate() {
        let name = format!("other{n}");
        others.call("repl_start", json!({ "session": name, "profile": profile, "wait_ms": 50_000 }))?;
    }
    let (mut alone, mut held, mut starting) = Default::default();
    for _ in 0..bench.times(20) {
        turn(&mut agent, &mut alone, TURN)?;
        for (n, (_, code)) in OTHERS.iter().enumerate() {
            let name = format!("other{n}");
            let (_, result) = others.call("repl_eval", json!({ "session": name, "code": code, "wait_ms": 150 }))?;
            let status = result["structuredContent"]["status"].as_str().unwrap_or_default();
            if !["running", "waiting_for_input"].contains(&status) {
                bail!("{name} should be held, but: {}", text(&result));
            }
        }
        turn(&mut agent, &mut held, TURN)?;
        for n in 0..OTHERS.len() {
            others.call("repl_interrupt", json!({ "session": format!("other{n}") }))?;
        }
        // Another agent restarts a session while this one evaluates.
        std::thread::scope(|scope| -> Result<()> {
            let starts = scope.spawn(|| -> Result<()> {
                let mut third = Contender::front_end(&mut bench.hob(&["mcp"]))?;
                for _ in 0..3 {
                    third.call("repl_restart", json!({ "session": "other2" }))?;
                }
                third.finish()
            });
            while !starts.is_finished() {
                turn(&mut agent, &mut starting, 5)?;
            }
            starts.join().map_err(|_| anyhow::anyhow!("restarting panicked"))?
        })?;
    }
    agent.finish()?;
    others.finish()?;
    let figure = |what: &str, samples: &Samples, percent, target| Figure {
        what: format!("bash `:` in one session, {what}, p{percent}"),
        unit: "µs",
        value: samples.percentile(percent),
        floor: Some(("the seven idle", alone.percentile(percent))),
        target,
    };
    Ok(vec![
        figure("seven others in mid-evaluation", &held, 50, Some(Target::MaxAboveFloor(100.0))),
        figure("seven others in mid-evaluation", &held, 99, Some(Target::MaxAboveFloor(1000.0))),
        figure("another one starting", &starting, 50, None),
        figure("another one starting", &starting, 99, None),
    ])
}

fn turn(agent: &mut Contender, samples: &mut Samples, count: usize) -> Result<()> {
    for _ in 0..count {
        let (took, result) = agent.call("repl_eval", json!({ "session": "one", "code": ":" }))?;
        if result["structuredContent"]["status"] != "done" {
            bail!("an evaluation failed: {}", text(&result));
        }
        samples.push(took);
    }
    Ok(())
}

/// Measures from start to first prompt, alternating with GHCi on bare pipes, which also gets a custom prompt.
fn first_prompt(bench: &Bench) -> Result<Vec<Figure>> {
    let mut agent = Contender::front_end(&mut bench.hob(&["mcp"]))?;
    let (mut bare, mut ours) = (Samples::default(), Samples::default());
    let mut added = Vec::new();
    for n in 0..bench.times(30) {
        let start = || -> Result<Duration> { bare_start(bench) };
        let (floor, session) = (start()?, format!("start{n}"));
        let wanted = json!({ "session": session, "profile": "ghci", "wait_ms": 50_000 });
        let (took, result) = agent.call("repl_start", wanted)?;
        if result["structuredContent"]["state"] != "idle" {
            bail!("the session did not start: {}", text(&result));
        }
        agent.call("repl_stop", json!({ "session": session }))?;
        added.push((took.as_secs_f64() - floor.as_secs_f64()) * 1000.0);
        bare.push(floor);
        ours.push(took);
    }
    agent.finish()?;
    let ms = |samples: &Samples, percent| samples.percentile(percent) / 1000.0;
    let figure = |percent| Figure {
        what: format!("GHCi, start to first prompt, p{percent}"),
        unit: "ms",
        value: ms(&ours, percent),
        floor: Some(("bare pipe", ms(&bare, percent))),
        target: None,
    };
    Ok(vec![
        figure(50),
        figure(99),
        Figure {
            what: "GHCi, start to first prompt, added, p50 of paired differences".to_owned(),
            unit: "ms",
            value: median(added),
            floor: None,
            target: Some(Target::Max(50.0)),
        },
    ])
}

fn bare_start(bench: &Bench) -> Result<Duration> {
    const MARK: &str = "=-bench-=";
    let mut command = Command::new("ghci");
    command.args(["-ferror-spans", "-haddock"]).current_dir(bench.dir()).stderr(Stdio::null()).env("TERM", "dumb");
    let started = Instant::now();
    let mut pipes = Pipes::start(&mut command)?;
    pipes.write(format!(":set prompt \"{MARK}\\n\"\n").as_bytes())?;
    let mut line = Vec::new();
    loop {
        pipes.read_line(&mut line).context("GHCi did not come to its prompt")?;
        if line.trim_ascii_end().ends_with(MARK.as_bytes()) {
            break;
        }
    }
    let took = started.elapsed();
    pipes.finish()?;
    Ok(took)
}

//! The time from spawning a process to its first answer: `hob mcp` with a running daemon, and without one.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::echo::Contender;
use super::report::{Figure, Target};
use super::{Bench, Samples};

pub(super) fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let (mut bare, mut floor, mut warm, mut cold) = Default::default();
    // The first call starts the daemon and is not counted.
    first_answer(&mut bench.hob(&["mcp"]))?;
    for _ in 0..bench.times(200) {
        timed(&mut bare, || spawn_and_wait(bench.program("floor-empty").stdin(Stdio::null())))?;
        timed(&mut floor, || first_answer(&mut bench.program("floor-echo")))?;
        timed(&mut warm, || first_answer(&mut bench.hob(&["mcp"])))?;
    }
    for _ in 0..bench.times(30) {
        bench.stop()?;
        timed(&mut cold, || first_answer(&mut bench.hob(&["mcp"])))?;
    }
    let ms = |samples: &Samples, percent| samples.percentile(percent) / 1000.0;
    let figure = |what: &str, samples: &Samples, percent, target| Figure {
        what: what.to_owned(),
        unit: "ms",
        value: ms(samples, percent),
        floor: Some(("empty program", ms(&bare, percent))),
        target,
    };
    Ok(vec![
        figure("spawn to first answer, minimal loop, p50", &floor, 50, None),
        figure("spawn to first answer, `hob mcp`, warm daemon, p50", &warm, 50, Some(Target::MaxAboveFloor(5.0))),
        figure("spawn to first answer, `hob mcp`, warm daemon, p99", &warm, 99, None),
        figure("spawn to first answer, `hob mcp` starts the daemon, p50", &cold, 50, Some(Target::Max(50.0))),
        figure("spawn to first answer, `hob mcp` starts the daemon, p99", &cold, 99, None),
    ])
}

/// Adds the duration that `work` returns.
fn timed(samples: &mut Samples, work: impl FnOnce() -> Result<Duration>) -> Result<()> {
    samples.push(work()?);
    Ok(())
}

fn spawn_and_wait(command: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    command.status().context("could not start the empty program")?;
    Ok(started.elapsed())
}

/// The time until the answer to a ping has been read, without the end of the process.
fn first_answer(command: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    let mut contender = Contender::pipes(command)?;
    contender.request("ping", None)?;
    let took = started.elapsed();
    contender.finish()?;
    Ok(took)
}

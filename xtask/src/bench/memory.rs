//! What an idle front-end and an idle daemon hold, beside an empty program that waits in the same way; and the daemon
//! with a thousand connections on which nothing happens.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::Bench;
use super::echo::{Contender, daemon_pid};
use super::report::{Figure, Target};
use crate::agent::{Agent, Pipes};

pub(super) fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let empty = Pipes::start(&mut bench.program("floor-empty"))?;
    let mut agent = Agent::start(&mut bench.hob(&["mcp"]))?;
    agent.initialize()?;
    agent.request("tools/list", json!({}), Duration::from_secs(10))?;
    let daemon = daemon_pid(bench)?;
    let floor = Memory::of(empty.pid())?;
    let front = Memory::of(agent.pid())?;
    let back = Memory::of(daemon)?;
    let (crowded, busy) = with_idle_connections(bench, daemon)?;
    agent.finish()?;
    empty.finish()?;
    let figure = |what: &str, value, floor, target| Figure {
        what: what.to_owned(),
        unit: "MiB",
        value,
        floor: Some(("empty program", floor)),
        target: Some(target),
    };
    Ok(vec![
        figure("idle front-end, anonymous", front.anonymous, floor.anonymous, Target::AtMost(1.0)),
        figure("idle front-end, resident", front.resident, floor.resident, Target::Above(2.0)),
        figure("idle daemon, resident", back.resident, floor.resident, Target::AtMost(20.0)),
        figure("daemon with 1000 idle connections, resident", crowded.resident, floor.resident, Target::AtMost(40.0)),
        Figure {
            what: format!("daemon with 1000 idle connections, processor time in {} s", IDLE.as_secs()),
            unit: "ms",
            value: busy.as_secs_f64() * 1000.0,
            floor: None,
            target: Some(Target::AtMost(10.0)),
        },
    ])
}

/// How many connections are open and silent.
const CONNECTIONS: usize = 1000;
/// For how long the processor time is counted.
const IDLE: Duration = Duration::from_secs(5);

/// The daemon's memory while so many clients have said hello and nothing since, and the time it ran meanwhile.
fn with_idle_connections(bench: &Bench, daemon: u32) -> Result<(Memory, Duration)> {
    let mut silent = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let mut client = Contender::socket(bench).context("if descriptors ran out, raise `ulimit -n`")?;
        client.open()?;
        silent.push(client);
    }
    let before = processor_time(daemon)?;
    std::thread::sleep(IDLE);
    let busy = processor_time(daemon)?.saturating_sub(before);
    let memory = Memory::of(daemon)?;
    silent.into_iter().try_for_each(Contender::finish)?;
    Ok((memory, busy))
}

/// What all threads of a process have run (proc(5), `schedstat`).
fn processor_time(pid: u32) -> Result<Duration> {
    let mut nanoseconds = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("process {pid} is gone"))? {
        // A thread that ends in between has run, and is not counted.
        let text = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        nanoseconds += text.split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// In MiB.
pub(super) struct Memory {
    pub(super) anonymous: f64,
    pub(super) resident: f64,
}

impl Memory {
    pub(super) fn of(pid: u32) -> Result<Self> {
        Ok(Self { anonymous: field(pid, "RssAnon:")?, resident: field(pid, "VmRSS:")? })
    }

    /// The most that was ever resident.
    pub(super) fn peak(pid: u32) -> Result<f64> {
        field(pid, "VmHWM:")
    }
}

fn field(pid: u32, name: &str) -> Result<f64> {
    let text =
        std::fs::read_to_string(format!("/proc/{pid}/status")).with_context(|| format!("process {pid} is gone"))?;
    let line = text.lines().find(|line| line.starts_with(name)).with_context(|| format!("no {name} of {pid}"))?;
    let kib: f64 = line.split_whitespace().nth(1).unwrap_or_default().parse().context("no number")?;
    Ok(kib / 1024.0)
}

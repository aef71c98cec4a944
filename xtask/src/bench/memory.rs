//! What an idle front-end and an idle daemon hold, beside an empty program that waits in the same way. What a thousand
//! idle connections cost is in `mcp/crowd.rs`.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::Bench;
use super::echo::daemon_pid;
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
    ])
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

//! The memory of an idle front-end and an idle daemon, compared with an empty program. That of a thousand idle
//! connections is in `mcp/connections.rs`.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use taskkit::agent::{Agent, Pipes};

use super::Bench;
use super::echo::daemon_pid;
use super::procfs::Memory;
use super::report::{Figure, Target};

pub(super) fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let empty = Pipes::start(&mut bench.program("floor-empty"))?;
    let mut agent = Agent::start(&mut bench.hob(&["mcp"]))?;
    agent.initialize()?;
    agent.request("tools/list", json!({}), Duration::from_secs(10))?;
    let daemon = daemon_pid(bench)?;
    let floor = Memory::read(empty.pid())?;
    let front = Memory::read(agent.pid())?;
    let back = Memory::read(daemon)?;
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
        figure("idle front-end, anonymous", front.anonymous, floor.anonymous, Target::Max(1.0)),
        figure("idle front-end, resident", front.resident, floor.resident, Target::MaxAboveFloor(2.0)),
        figure("idle daemon, resident", back.resident, floor.resident, Target::Max(20.0)),
    ])
}

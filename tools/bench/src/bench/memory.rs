//! The memory of an idle front-end and an idle daemon, compared with an empty program. That of a thousand idle
//! connections is in `mcp/connections.rs`.

use anyhow::Result;
use serde_json::json;

use super::Bench;
use super::echo::daemon_pid;
use super::procfs::Memory;
use super::report::{Figure, Target};
use crate::client::Client;
use crate::pipes::Pipes;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let empty = Pipes::start(&mut bench.program("floor-empty"))?;
    let mut agent = Client::start(&mut bench.hob(&["mcp"]))?;
    agent.request("tools/list", json!({}))?;
    let daemon = daemon_pid(bench)?;
    let floor = Memory::read(empty.pid())?;
    let front = Memory::read(agent.processes()[0])?;
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

//! Memory of the part in the daemon: while it is unused, and after every question.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::super::echo::daemon_pid;
use super::super::procfs::Memory;
use super::super::report::{Figure, Target};
use super::Bench;
use crate::client::Client;

/// Number of daemons of each kind.
const STARTS: usize = 10;

/// Time after the last question until the daemon is at rest.
const REST: Duration = Duration::from_secs(8);

/// Memory at rest, as measured by [`resident`].
pub(super) fn at_rest(bench: &Bench) -> Result<f64> {
    std::thread::sleep(REST);
    resident(bench)
}

/// Returns the resident memory of the project's daemon in MiB.
pub(super) fn resident(bench: &Bench) -> Result<f64> {
    Ok(Memory::read(daemon_pid(bench)?)?.resident)
}

/// Compares a daemon whose agents have the toolset and do not use it with one without the toolset.
pub(super) fn unused(bench: &Bench) -> Result<Figure> {
    let mut memory = [Vec::new(), Vec::new()];
    for _ in 0..bench.times(STARTS) {
        for (of, toolsets) in ["mail", "mail,code"].iter().enumerate() {
            let mut agent = Client::start(&mut bench.hob(&["mcp", toolsets]))?;
            agent.request("tools/list", json!({}))?;
            memory[of].push(resident(bench)?);
            agent.finish()?;
            bench.stop()?;
        }
    }
    let [without, with] = memory.map(super::super::median);
    Ok(Figure {
        what: "daemon that was asked nothing, resident".to_owned(),
        unit: "MiB",
        value: with,
        floor: Some(("without the toolset", without)),
        target: Some(Target::MaxAboveFloor(2.0)),
    })
}

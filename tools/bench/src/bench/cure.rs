//! `cargo xtask bench cure`: time of the Cure compiler, and the memory it leaves in the daemon.
//!
//! The crate's bench `figures` measures the times within one process; this file compares each with its floor and
//! target.

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde_json::json;

use super::echo::daemon_pid;
use super::procfs::Memory;
use super::report::{Figure, Page, Target};
use super::{Bench, of_crate, programs};
use crate::client::Client;

const PAGE: Page = Page {
    file: "docs/generated/bench-cure.md",
    task: "cargo xtask bench cure",
    about: "The floor of reading a text is one walk over its characters; of a large text, the cost of as many bytes in one \
            of 50 KB; of a compilation, the bare write of the same bytes.",
};

/// Measures everything. Fails if a target is missed.
pub(super) fn run(is_quick: bool) -> Result<()> {
    of_crate::run("cure", &PAGE, is_quick, &[], |values| {
        let mut figures = times(values)?;
        let bench = Bench::new(programs()?, is_quick)?;
        figures.push(memory(&bench)?);
        bench.stop()?;
        Ok(figures)
    })
}

fn times(micros: &HashMap<&str, f64>) -> Result<Vec<Figure>> {
    let get = |name: &str| micros.get(name).copied().with_context(|| format!("{name} was not measured"));
    let mut figures = Vec::new();
    let mut add = |name: &str, unit: &'static str, floor: Option<(&'static str, &str)>, target| -> Result<()> {
        let scale = if unit == "ms" { 1000.0 } else { 1.0 };
        let floor = match floor {
            Some((what, name)) => Some((what, get(name)? / scale)),
            None => None,
        };
        figures.push(Figure { what: name.to_owned(), unit, value: get(name)? / scale, floor, target });
        Ok(())
    };
    let most = |most: f64| Some(Target::Max(most));
    add("parse 49 KB", "ms", Some(("one walk", "read 49 KB")), most(2.0))?;
    add("check 49 KB", "ms", Some(("one walk", "read 49 KB")), most(20.0))?;
    for shape in ["functions", "one match"] {
        for step in ["parse", "check"] {
            let (large, small) = (format!("{step} in 1 MB, {shape}"), format!("{step} of 50 KB, {shape}"));
            add(&large, "ms", Some(("as many bytes of 50 KB", &small)), Some(Target::MaxTimesFloor(1.5)))?;
        }
    }
    add("validate a small module", "µs", None, most(50.0))?;
    add("check a small module", "µs", None, None)?;
    add("compile to a file", "µs", Some(("bare write", "write the file")), Some(Target::MaxAboveFloor(1000.0)))?;
    add("check 200 modules", "ms", None, None)?;
    add("check again, nothing", "ms", None, None)?;
    add("check again, a body", "ms", Some(("nothing changed", "check again, nothing")), most(10.0))?;
    let dependents = "check again, a signature with 50 dependents";
    add(dependents, "ms", Some(("nothing changed", "check again, nothing")), most(100.0))?;
    Ok(figures)
}

/// Measures the daemon's memory before and after it has checked a program.
fn memory(bench: &Bench) -> Result<Figure> {
    let mut agent = Client::start(&mut bench.hob(&["mcp", "cure"]))?;
    agent.request("tools/list", json!({}))?;
    let daemon = daemon_pid(bench)?;
    let before = Memory::read(daemon)?.resident;
    let code = "module T do\n  def main(): String = \"#{1 + 1}\"\nend\n";
    agent.call("type_check_cure", json!({ "code": code }))?;
    let after = Memory::read(daemon)?.resident;
    agent.finish()?;
    let what = "daemon that has checked a program, resident".to_owned();
    Ok(Figure {
        what,
        unit: "MiB",
        value: after,
        floor: Some(("before", before)),
        target: Some(Target::MaxAboveFloor(10.0)),
    })
}

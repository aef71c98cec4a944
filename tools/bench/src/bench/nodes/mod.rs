//! `cargo xtask bench nodes`: cost of a node compared with the bare request to its model, time until a saved file is
//! served, and cost of nodes in the daemon.
//!
//! The crate's bench `figures` measures in one process, against a local server that answers immediately. This file
//! compares each figure with its floor and target. Figures through `hob mcp` are in [`daemon`].

mod daemon;
mod model;

use std::collections::HashMap;

use anyhow::{Context, Result};

use self::model::Model;
use super::report::{Figure, Page, Target};
use super::{Bench, of_crate, programs};

const PAGE: Page = Page {
    file: "docs/generated/bench-nodes.md",
    task: "cargo xtask bench nodes",
    about: "The floor of a call is the same request over one kept connection, in turns with it, to a server on this machine that \
            answers at once. A replayed call is one from a recording: in process, and through a real front-end and its daemon, where \
            the floor is a ping on the same connection, in turns with it. Files are saved one after the other; 100 ms of a save's time \
            are the wait for quiet. The daemon without node files is set beside one whose client asked for no nodes, each started anew \
            in turns.",
};

/// Measures everything. Fails if a target is missed.
pub(super) fn run(is_quick: bool) -> Result<()> {
    let programs = programs()?;
    let model = Model::prompt()?;
    of_crate::run("nodes", &PAGE, is_quick, &["--model", &model.url], |values| {
        let mut figures = figures(values)?;
        for measure in [daemon::without_files, daemon::replayed, daemon::beside_waiting_calls] {
            let bench = Bench::new(programs.clone(), is_quick)?;
            let measured = measure(&bench);
            bench.stop()?;
            figures.extend(measured?);
        }
        Ok(figures)
    })
}

fn figures(values: &HashMap<&str, f64>) -> Result<Vec<Figure>> {
    let get = |name: &str| values.get(name).copied().with_context(|| format!("{name} was not measured"));
    let ms = |name: &str| get(name).map(|micros| micros / 1000.0);
    let mut figures = Vec::new();
    let mut add = |what: &str, unit: &'static str, value: f64, floor: Option<(&'static str, f64)>, target: Target| {
        figures.push(Figure { what: what.to_owned(), unit, value, floor, target: Some(target) });
    };
    let floor = |name: &str| ms(name).map(|floor| Some(("bare request", floor)));
    add("a call, p50", "ms", ms("call, p50")?, floor("bare request, p50")?, Target::MaxAboveFloor(0.5));
    add("a call, p99", "ms", ms("call, p99")?, floor("bare request, p99")?, Target::MaxAboveFloor(5.0));
    add("a replayed call in process, p50", "ms", ms("replayed call, p50")?, None, Target::Max(1.0));
    let growth = get("growth by replayed calls, MiB")?;
    add("growth of the process by 10,000 of them", "MiB", growth, None, Target::Max(10.0));
    add("500 files loaded and checked", "ms", ms("500 files loaded and checked")?, None, Target::Max(500.0));
    add("from save to serving, p50", "ms", ms("save to serving, p50")?, None, Target::Max(250.0));
    add("from save to serving, p95", "ms", ms("save to serving, p95")?, None, Target::Max(250.0));
    Ok(figures)
}

//! `cargo xtask bench mcp`: the MCP library compared with the official SDKs and with floors, in one interleaved run.
//!
//! Every contender is the same server with one tool, `echo`. [`pipes`] measures one connection, [`http`] one over HTTP,
//! and [`connections`] the effect of many connections and of a slow reader on a daemon.

mod connections;
mod http;
mod peers;
mod pipes;

use anyhow::{Context, Result};
use taskkit::workspace::{Profile, build};

use super::report::{self, Figure, Page, Target};
use super::{Bench, Samples, programs};
use peers::Peers;
use pipes::{Era, Measured};

const PAGE: Page = Page {
    file: "docs/generated/bench-mcp.md",
    task: "cargo xtask bench mcp",
    about: "The MCP library beside the official SDKs, each with one tool `echo`; and beside two programs that do nothing \
            else: a synchronous loop, and a loop on tokio that parses with serde and answers all of one read in one \
            write. A round trip takes a few µs where the kernel has put both ends on one core, and many times that \
            where a sleeping core has to be woken: the floor is compared on one core, where no luck decides.",
};

/// Measures everything, or a tenth if `is_quick`.
pub(super) fn run(is_quick: bool) -> Result<()> {
    let library = ["-p", "mcp", "--features", "websocket", "--example", "echo", "--example", "http"];
    let floors = ["--example", "floor", "--example", "floor_tokio"];
    let examples = build(Profile::Release, &[&library[..], &floors[..]].concat())?.join("examples");
    let programs = programs()?;
    let peers = Peers::build()?;
    let bench = Bench::new(programs, is_quick)?;

    let mut figures = one_connection(&bench, &pipes::contenders(&examples, &peers))?;
    println!("bench: HTTP …");
    figures.extend(http::measure(&bench, &examples, &peers)?);
    println!("bench: many connections …");
    figures.extend(connections::measure(&bench)?);
    bench.stop()?;
    report::publish(&PAGE, &figures, !is_quick).map(drop)
}

/// Cores on which the two ends of a round trip ran, and its samples.
type Placement = (&'static str, fn(&Measured) -> &Samples);

/// Round trips, pipelined calls and memory of each contender, in turns.
fn one_connection(bench: &Bench, contenders: &[pipes::Contender]) -> Result<Vec<Figure>> {
    let mut measured: Vec<Measured> = contenders.iter().map(|_| Measured::default()).collect();
    for round in 0..bench.times(5) {
        println!("bench: one connection, round {} …", round + 1);
        for (contender, measured) in contenders.iter().zip(&mut measured) {
            contender.measure(bench, measured).with_context(|| contender.name.to_owned())?;
        }
    }
    let of = |name: &str| contenders.iter().position(|contender| contender.name == name).map(|at| &measured[at]);
    let get = |name: &str| of(name).with_context(|| format!("{name} was not measured"));
    let (floor, batching) = (get(pipes::FLOOR)?, get(pipes::BATCHING)?);
    let rmcp = [get("rmcp 3.11, legacy")?, get("rmcp 3.11, modern")?];
    let mut figures = Vec::new();
    for (contender, measured) in contenders.iter().zip(&measured) {
        let places: [Placement; 2] = [
            ("round trip on one core", |measured| &measured.one_core),
            ("round trip", |measured| &measured.round_trips),
        ];
        for ((what, samples), percent) in places.into_iter().flat_map(|place| [(place, 50), (place, 99)]) {
            let mut row = |floor: (&'static str, &Measured), target| {
                figures.push(Figure {
                    what: format!("{what}, {}, p{percent}", contender.name),
                    unit: "µs",
                    value: samples(measured).percentile(percent),
                    floor: Some((floor.0, samples(floor.1).percentile(percent))),
                    target,
                });
            };
            let is_held = contender.is_ours && percent == 50;
            // On several cores, the floor depends on whether the kernel happened to put its two ends on one.
            let is_certain = what.ends_with("one core");
            row(("synchronous loop", floor), (is_held && is_certain).then_some(Target::MaxTimesFloor(1.5)));
            if contender.is_ours {
                let peer = if contender.era == Era::Legacy { rmcp[0] } else { rmcp[1] };
                row(("rmcp, same era", peer), is_held.then_some(Target::MaxTimesFloor(1.0)));
            }
        }
    }
    let better = if rmcp[0].per_second > rmcp[1].per_second { rmcp[0] } else { rmcp[1] };
    for (contender, measured) in contenders.iter().zip(&measured) {
        let mut row = |floor: (&'static str, &Measured), target| {
            figures.push(Figure {
                what: format!("pipelined, {}", contender.name),
                unit: "calls/s",
                value: measured.per_second,
                floor: Some((floor.0, floor.1.per_second)),
                target,
            });
        };
        let batching = match contender.era {
            Era::Legacy => batching,
            Era::Modern => get(pipes::BATCHING_MODERN)?,
        };
        row(("batching loop, same calls", batching), contender.is_ours.then_some(Target::MinTimesFloor(0.5)));
        if contender.is_ours {
            row(("rmcp, better era", better), Some(Target::MinTimesFloor(3.0)));
        }
    }
    for (contender, measured) in contenders.iter().zip(&measured) {
        let mut row = |what: &str, unit, value, target| {
            figures.push(Figure { what: format!("{what}, {}", contender.name), unit, value, floor: None, target });
        };
        let ours = |target| contender.is_ours.then_some(target);
        row("spawn to first answer, p50", "ms", measured.cold.percentile(50) / 1000.0, None);
        row("idle, resident", "MiB", measured.idle, ours(Target::Max(4.0)));
        let what = format!("{} calls at once, all answered, peak resident", pipes::AT_ONCE);
        row(&what, "MiB", measured.peak, ours(Target::Max(16.0)));
    }
    Ok(figures)
}

//! `cargo xtask bench mail`: messages between agents compared with the disk that stores them, and the fate of messages
//! when daemons are killed.
//!
//! The floor of a send is appending and syncing the same bytes in a file on the same disk, alternating with the sends;
//! the floor of many senders is one sync for many messages; in PostgreSQL it is `pgbench` writing the same rows. The last figures are counts: of the messages acknowledged
//! while daemons were killed and connections cut, how many are missing or doubled. One file per part.

mod connection;
mod latency;
mod load;
mod machines;
mod pgbench;
mod rush;
mod scale;

use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::paged::{self, Part};
use super::report::{self, Figure, Target};
use super::{Bench, Samples};
use crate::client::{Client, text};

/// The size of a message, in bytes.
const BODY: usize = 500;

pub(super) const PARTS: &[Part] = &[
    ("send", |bench, _| latency::sends(bench)),
    ("wake", |bench, _| latency::wakes(bench)),
    ("wait", |bench, _| latency::hob_wait(bench)),
    ("rush", |bench, _| rush::measure(bench, "")),
    ("idle", |bench, _| scale::idle(bench)),
    ("large", |bench, _| scale::large(bench)),
    ("machines", |bench, options| machines::measure(bench, options)),
    ("kills", |bench, options| load::kills(bench, options)),
];

/// Runs all parts, or the named ones.
pub(super) fn run(args: &[&str], is_quick: bool) -> Result<()> {
    let kills = if is_quick { 50 } else { 1_000 };
    paged::run(("mail", &report::MAIL), PARTS, args, is_quick, kills)
}

/// Registers an agent from the command line.
fn register(bench: &Bench, name: &str) -> Result<()> {
    let done = bench.hob(&["quickstart", "--name", name, "--role", "bench"]).stdout(Stdio::null()).status()?;
    if !done.success() {
        bail!("could not register {name}");
    }
    Ok(())
}

/// A front-end for that agent.
fn agent(bench: &Bench, name: &str) -> Result<Client> {
    Client::start(&mut bench.hob(&["mcp", "mail", "--as", name]))
}

/// The structured content of a successful result.
fn structured(result: &Value) -> Result<&Value> {
    if result["isError"] == true {
        bail!("{}", text(result));
    }
    Ok(&result["structuredContent"])
}

fn message_to(agent: &str, content: &str) -> Value {
    json!({ "to": format!("agent:{agent}"), "content": content })
}

/// A file on the disk of the mail store, to time appends and syncs.
struct DiskFloor {
    file: File,
    samples: Samples,
}

impl DiskFloor {
    fn new(bench: &Bench) -> Result<DiskFloor> {
        let file = File::create(bench.dir().join("floor")).context("could not make the floor's file")?;
        Ok(DiskFloor { file, samples: Samples::default() })
    }

    /// Appends and syncs.
    fn append(&mut self, bytes: &[u8]) -> Result<Duration> {
        let begun = Instant::now();
        self.file.write_all(bytes)?;
        self.file.sync_data()?;
        let took = begun.elapsed();
        self.samples.push(took);
        Ok(took)
    }

    /// A percentile compared with the same percentile of the floor.
    fn percentile_figure(&self, what: &str, samples: &Samples, percent: usize, target: Option<Target>) -> Figure {
        Figure {
            what: format!("{what}, p{percent}"),
            unit: "µs",
            value: samples.percentile(percent),
            floor: Some(("append + sync", self.samples.percentile(percent))),
            target,
        }
    }
}

/// Returns a count with the maximum allowed.
fn count_figure(what: impl Into<String>, value: usize, most: Option<f64>) -> Figure {
    Figure { what: what.into(), unit: "", value: value as f64, floor: None, target: most.map(Target::Max) }
}

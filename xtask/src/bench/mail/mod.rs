//! `cargo xtask bench mail`: messages between agents against the disk that has to hold them, and what becomes of them
//! when a daemon is killed.
//!
//! The floor of a send is appending the same bytes to a file on the same disk and syncing them, in between the sends;
//! the floor of a rush is one sync for many. The last figures are counts: what was acknowledged while daemons were
//! killed and connections cut, and what of it is missing or doubled afterwards. One file a part.

mod crowd;
mod database;
mod latency;
mod line;
mod load;
mod machines;
mod rush;

use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::report::{self, Figure, Target};
use super::{Bench, Samples};
use crate::agent::{Agent, text};
use crate::workspace::{Profile, build};

/// Bytes of a message.
const BODY: usize = 500;

/// A part: its name and what measures it, in a project of its own.
pub(super) type Part = (&'static str, fn(&Bench, &Asked) -> Result<Vec<Figure>>);

pub(super) const PARTS: &[Part] = &[
    ("send", |bench, _| latency::sends(bench)),
    ("wake", |bench, _| latency::wakes(bench)),
    ("wait", |bench, _| latency::doorbell(bench)),
    ("rush", |bench, _| rush::measure(bench, "")),
    ("idle", |bench, _| crowd::idle(bench)),
    ("large", |bench, _| crowd::large(bench)),
    ("machines", |bench, asked| machines::measure(bench, asked)),
    ("kills", |bench, asked| load::kills(bench, asked)),
];

/// What was asked for.
pub(super) struct Asked {
    /// How often the daemon is killed.
    kills: usize,
}

/// The task: all parts, or those named.
pub(super) fn run(args: &[&str], is_quick: bool) -> Result<()> {
    let (mut wanted, mut asked) = (Vec::new(), Asked { kills: if is_quick { 50 } else { 1_000 } });
    let mut args = args.iter().copied().filter(|arg| *arg != "--");
    while let Some(arg) = args.next() {
        match arg {
            "--kills" => {
                asked.kills = args.next().and_then(|text| text.parse().ok()).context("--kills takes a number")?
            }
            part if PARTS.iter().any(|(name, _)| *name == part) => wanted.push(part),
            other => {
                let parts: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
                bail!("there is no part {other:?}; the parts are: {}; and --kills N", parts.join(" "));
            }
        }
    }
    let programs = build(Profile::Release, &["-p", "hob", "-p", "xtask", "--bins"])?;
    let mut figures = Vec::new();
    for (name, measure) in PARTS.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)) {
        println!("bench: mail, {name} …");
        let bench = Bench::new(programs.clone(), is_quick)?;
        let measured = measure(&bench, &asked).with_context(|| format!("part {name}"));
        bench.stop()?;
        figures.extend(measured?);
    }
    let missed = report::show(&figures);
    if wanted.is_empty() && !is_quick {
        report::keep(&report::MAIL, &figures)?;
    }
    if missed > 0 && !is_quick {
        bail!("{missed} of the figures miss their target");
    }
    Ok(())
}

/// Makes an agent known, by the command line.
fn register(bench: &Bench, name: &str) -> Result<()> {
    let done = bench.hob(&["quickstart", "--name", name, "--role", "bench"]).stdout(Stdio::null()).status()?;
    if !done.success() {
        bail!("could not register {name}");
    }
    Ok(())
}

/// A front-end of that agent.
fn agent(bench: &Bench, name: &str) -> Result<Agent> {
    let mut agent = Agent::start(bench.hob(&["mcp", "mail", "--as", name]).stderr(Stdio::null()))?;
    agent.initialize()?;
    Ok(agent)
}

/// What a call that worked says in full.
fn done(result: &Value) -> Result<&Value> {
    if result["isError"] == true {
        bail!("{}", text(result));
    }
    Ok(&result["structuredContent"])
}

fn to(agent: &str, content: &str) -> Value {
    json!({ "to": format!("agent:{agent}"), "content": content })
}

/// A file on the disk that the mail is on.
struct Floor {
    file: File,
    taken: Samples,
}

impl Floor {
    fn new(bench: &Bench) -> Result<Floor> {
        let file = File::create(bench.dir().join("floor")).context("could not make the floor's file")?;
        Ok(Floor { file, taken: Samples::default() })
    }

    /// Appends and syncs.
    fn append(&mut self, bytes: &[u8]) -> Result<Duration> {
        let begun = Instant::now();
        self.file.write_all(bytes)?;
        self.file.sync_data()?;
        let took = begun.elapsed();
        self.taken.push(took);
        Ok(took)
    }

    /// A figure of a distribution beside the same one of the floor.
    fn beside(&self, what: &str, samples: &Samples, percent: usize, target: Option<Target>) -> Figure {
        Figure {
            what: format!("{what}, p{percent}"),
            unit: "µs",
            value: samples.percentile(percent),
            floor: Some(("append + sync", self.taken.percentile(percent))),
            target,
        }
    }
}

/// A plain number, with the most that it may be.
fn count(what: impl Into<String>, value: usize, most: Option<f64>) -> Figure {
    Figure { what: what.into(), unit: "", value: value as f64, floor: None, target: most.map(Target::AtMost) }
}

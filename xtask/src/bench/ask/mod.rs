//! `cargo xtask bench ask`: questions to a person. What it costs to wait for one, how soon an answer is out, that one of
//! several answers wins, and what becomes of questions and answers when daemons and agents are killed.
//!
//! The floor of an answer is appending as many bytes to a file on the same disk and syncing them, in between the answers. One
//! file per part.

mod crowd;
mod kills;
mod latency;
mod line;
mod races;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use self::line::Line;
use super::Bench;
use super::report::{self, Figure, Target};
use crate::workspace::{Profile, build};

/// A part: its name, and the function that measures it in a project of its own.
pub(super) type Part = (&'static str, fn(&Bench, &Options) -> Result<Vec<Figure>>);

pub(super) const PARTS: &[Part] = &[
    ("answer", |bench, _| latency::answers(bench)),
    ("command", |bench, _| latency::command(bench)),
    ("listing", |bench, _| latency::listing(bench)),
    ("crowd", |bench, _| crowd::waiting(bench)),
    ("mail", |bench, _| crowd::mail(bench)),
    ("races", |bench, _| races::measure(bench)),
    ("kills", kills::measure),
];

pub(super) struct Options {
    /// How often the daemon is killed; agents are killed half as often.
    kills: usize,
}

/// Runs all parts, or the named ones.
pub(super) fn run(args: &[&str], is_quick: bool) -> Result<()> {
    let (mut wanted, mut options) = (Vec::new(), Options { kills: if is_quick { 20 } else { 200 } });
    let mut args = args.iter().copied().filter(|arg| *arg != "--");
    while let Some(arg) = args.next() {
        match arg {
            "--kills" => {
                options.kills = args.next().and_then(|text| text.parse().ok()).context("--kills takes a number")?
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
        println!("bench: ask, {name} …");
        let bench = Bench::new(programs.clone(), is_quick)?;
        let measured = measure(&bench, &options).with_context(|| format!("part {name}"));
        bench.stop()?;
        figures.extend(measured?);
    }
    let missed = report::print(&figures);
    if wanted.is_empty() && !is_quick {
        report::write(&report::ASK, &figures)?;
    }
    if missed > 0 && !is_quick {
        bail!("{missed} of the figures miss their target");
    }
    Ok(())
}

/// A confirmation that is asked and not waited for: its id.
fn ask(agent: &mut Line, action: &str) -> Result<String> {
    let result = agent.result("confirm_action", json!({ "action": action, "wait_s": 0 }))?;
    id_of(&result["structuredContent"])
}

/// The id of a question, in a result or on a face.
fn id_of(question: &Value) -> Result<String> {
    let id = question["question"].as_str().with_context(|| format!("no question in {question}"))?;
    Ok(id.to_owned())
}

/// A count, with the most that it may be.
fn count(what: impl Into<String>, value: usize, most: Option<usize>) -> Figure {
    Figure {
        what: what.into(),
        unit: "",
        value: value as f64,
        floor: None,
        target: most.map(|most| Target::Max(most as f64)),
    }
}

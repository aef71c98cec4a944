//! `cargo xtask bench ask`: what questions cost while they wait, how soon an answer is where it belongs, who wins when
//! several answer at once, and what becomes of questions and answers when daemons and agents are killed.
//!
//! Agents are real front-ends; whoever answers is a control connection, as `hob answer` is. The floor of an answer is a
//! sync of as many bytes on the same disk, alternating with the answers. One file per part.

mod kills;
mod latency;
mod line;
mod races;
mod waiting;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::Bench;
use super::report::{self, Figure, Target};
use crate::workspace::{Profile, build};

use line::Line;

/// A part: its name, and the function that measures it in a project of its own.
pub(super) type Part = (&'static str, fn(&Bench, &Options) -> Result<Vec<Figure>>);

pub(super) const PARTS: &[Part] = &[
    ("waiting", |bench, _| waiting::thousand(bench)),
    ("mailboxes", |bench, _| waiting::mailboxes(bench)),
    ("wake", |bench, _| latency::wakes(bench)),
    ("answer", |bench, _| latency::hob_answer(bench)),
    ("listing", |bench, _| listing(bench)),
    ("races", |bench, options| races::measure(bench, options.races)),
    ("kills", |bench, options| kills::measure(bench, options.kills)),
];

pub(super) struct Options {
    /// How often the daemon is killed; agents half as often.
    kills: usize,
    races: usize,
}

/// Runs all parts, or the named ones.
pub(super) fn run(args: &[&str], is_quick: bool, is_debug: bool) -> Result<()> {
    let kills = if is_quick { 40 } else { 200 };
    let (mut wanted, mut options) = (Vec::new(), Options { kills, races: 5 * kills });
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
    let programs = match is_debug {
        // With fewer packages, features differ, and much is built once more.
        true => build(Profile::Dev, &["--workspace", "--bins"])?,
        false => build(Profile::Release, &["-p", "hob", "-p", "xtask", "--bins"])?,
    };
    let mut figures = Vec::new();
    for (name, measure) in PARTS.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)) {
        println!("bench: ask, {name} …");
        let bench = Bench::new(programs.clone(), is_quick)?;
        let measured = measure(&bench, &options).with_context(|| format!("part {name}"));
        bench.stop()?;
        figures.extend(measured?);
    }
    let missed = report::print(&figures);
    if wanted.is_empty() && !is_quick && !is_debug {
        report::write(&report::ASK, &figures)?;
    }
    if missed > 0 && !is_quick && !is_debug {
        bail!("{missed} of the figures miss their target");
    }
    Ok(())
}

/// The size of the toolset's listing. A token is taken for 4 bytes of JSON; the test `listing` counts real ones.
fn listing(bench: &Bench) -> Result<Vec<Figure>> {
    let size = |args: &str, is_shown: fn(&str) -> bool| -> Result<f64> {
        let listed = Line::agent(bench, args, json!({}))?.request("tools/list", json!({}))?;
        let tools = listed["tools"].as_array().into_iter().flatten();
        let shown = tools.filter(|tool| tool["name"].as_str().is_some_and(is_shown));
        let bytes = |tool: &Value| json!([tool["name"], tool["description"], tool["inputSchema"]]).to_string().len();
        Ok(shown.map(bytes).sum::<usize>() as f64 / 4.0)
    };
    let core = |tool: &str| ["confirm_action", "select_option", "request_guidance"].contains(&tool);
    let unit = "tokens of 4 bytes";
    Ok(vec![
        figure("listing of the toolset's core", unit, size("", core)?, None),
        figure("… of all its tools", unit, size("ask", |_| true)?, Some(1_500.0)),
    ])
}

/// The questions that are open.
fn open(control: &mut Line) -> Result<Vec<Value>> {
    let mut listed = control.request("ask/list", json!({}))?;
    match listed["questions"].take() {
        Value::Array(open) => Ok(open),
        other => bail!("no list of questions: {other}"),
    }
}

/// A number that is measured, with the most allowed.
fn figure(what: impl Into<String>, unit: &'static str, value: f64, most: Option<f64>) -> Figure {
    Figure { what: what.into(), unit, value, floor: None, target: most.map(Target::Max) }
}

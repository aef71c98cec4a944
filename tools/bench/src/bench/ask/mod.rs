//! `cargo xtask bench ask`: questions to a person. The cost of waiting, the latency of an answer, concurrent answers of
//! which one wins, and the fate of questions and answers when daemons and agents are killed.
//!
//! The floor of an answer is an append of as many bytes to a file on the same disk with a sync, between the answers.
//! One file per part.

mod crowd;
mod kills;
mod latency;
mod line;
mod races;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use self::line::Line;
use super::paged::{self, Part};
use super::report::{self, Figure, Target};

pub(super) const PARTS: &[Part] = &[
    ("answer", |bench, _| latency::answers(bench)),
    ("command", |bench, _| latency::command(bench)),
    ("listing", |bench, _| latency::listing(bench)),
    ("crowd", |bench, _| crowd::waiting(bench)),
    ("mail", |bench, _| crowd::mail(bench)),
    ("races", |bench, _| races::measure(bench)),
    ("kills", kills::measure),
];

/// Runs all parts, or the named ones.
pub(super) fn run(args: &[&str], is_quick: bool) -> Result<()> {
    let kills = if is_quick { 20 } else { 200 };
    paged::run(("ask", &report::ASK), PARTS, args, is_quick, kills)
}

/// Asks for a confirmation without waiting. Returns its id.
fn ask(agent: &mut Line, action: &str) -> Result<String> {
    let result = agent.result("confirm_action", json!({ "action": action, "wait_s": 0 }))?;
    id_of(&result["structuredContent"])
}

/// Returns the id of a question in a result or a notification.
fn id_of(question: &Value) -> Result<String> {
    let id = question["question"].as_str().with_context(|| format!("no question in {question}"))?;
    Ok(id.to_owned())
}

/// Returns a count with its maximum.
fn count(what: impl Into<String>, value: usize, most: Option<usize>) -> Figure {
    Figure {
        what: what.into(),
        unit: "",
        value: value as f64,
        floor: None,
        target: most.map(|most| Target::Max(most as f64)),
    }
}

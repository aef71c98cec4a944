//! `cargo xtask bench ask`: questions to a person. The cost of waiting, the latency of an answer, concurrent answers of
//! which one wins, and the fate of questions and answers when daemons and agents are killed.
//!
//! The floor of an answer is an append of as many bytes to a file on the same disk with a sync, between the answers.
//! One file per part.

mod crowd;
mod kills;
mod latency;
mod races;

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Bench;
use super::echo::connect;
use super::paged::{self, Part};
use super::report::{self, Figure, Target};
use crate::client::Client;

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

/// Starts an agent's front-end. `dialogs` is the client's capability. The agent is a script of its own: a descendant of an
/// agent may not answer, and the bench itself acts as the person.
fn agent(bench: &Bench, args: &[&str], dialogs: bool) -> Result<Client> {
    let script = bench.dir().join("agent.sh");
    std::fs::write(&script, "\"$@\"\nexit $?\n").context("could not write the agent's script")?;
    let mut command = Command::new("sh");
    command.arg(&script).arg(bench.programs.join("hob")).arg("mcp").args(args);
    let capabilities = if dialogs { json!({ "elicitation": {} }) } else { json!({}) };
    Client::start_with(command.current_dir(bench.dir()).stderr(Stdio::null()), capabilities)
}

/// Opens a person's connection, as the command line does.
fn person(bench: &Bench) -> Result<Client> {
    // The daemon sends nothing before a request, so the buffer is empty.
    let stream = connect(bench, "control")?.into_inner();
    let reader = stream.try_clone().context("could not share the socket")?;
    Ok(Client::from_streams(stream, reader))
}

/// Asks for a confirmation without waiting. Returns its id.
fn ask(agent: &mut Client, action: &str) -> Result<String> {
    let result = agent.succeed("confirm_action", json!({ "action": action, "wait_s": 0 }))?;
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

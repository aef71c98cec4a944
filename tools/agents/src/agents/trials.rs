//! Further trials of an agent: hob registered by `hob init`, hob over HTTP, the agent killed during an evaluation, and
//! a node answered by its own model.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use taskkit::until;
use taskkit::workspace::{KillOnDrop, succeeds};

use super::kinds::{Agent, Server};
use super::record;
use super::stage::{Model, Programs, Stage};
use super::tasks::{Task, Turn, task, turns};
use crate::clients::stdout_of;

const NODE: &str = "---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { reason: string, score: integer 1..5 } }
---
Rate this text: {{ text | data }}
";

/// A task, and the expected text of its result.
type Expected = (Task, &'static str);

/// The agent with the files written by `hob init` only.
pub(super) struct Registered {
    /// The steps that `hob init` leaves to a person.
    pub(super) left: Vec<String>,
    /// After `hob init --allow`: the tasks whose correct results did not reach the model.
    pub(super) missed: Vec<&'static str>,
}

/// Registers hob as a person does, and starts the agent with the files written.
pub(super) fn registered(agent: &Agent, programs: &Programs<'_>) -> Result<Registered> {
    let stage = Stage::new(programs)?;
    let expected = vec![
        (task("start", "repl_start", json!({ "profile": "python" })), "[main: python"),
        (task("evaluate", "repl_eval", json!({ "code": "40+2" })), "42\n"),
    ];
    let (tasks, texts): (Vec<Task>, Vec<&str>) = expected.into_iter().unzip();
    let turns = turns(&tasks, agent.before, agent.call);
    let model = stage.model(&turns)?;
    let mut command = stage.agent(agent, &(agent.setting)(&stage.environment_for(Server::Registered, &model)))?;
    let init = ["init", "--agent", agent.installation.name];
    let said = stdout_of(&mut stage.hob(&init)?).context("`hob init` failed")?;
    let left = said.lines().filter_map(|line| line.strip_prefix("  ")).map(str::to_owned).collect();
    stdout_of(stage.hob(&init)?.arg("--allow")).context("`hob init --allow` failed")?;
    let missed = outcome(&tasks, &texts, &turns, model, &mut command)?;
    stage.stop()?;
    Ok(Registered { left, missed })
}

/// Runs the agent over HTTP. Returns the tasks whose correct results did not reach its model.
pub(super) fn over_http(agent: &Agent, programs: &Programs<'_>) -> Result<Vec<&'static str>> {
    let stage = Stage::new(programs)?;
    let mut serve = stage.hob(&["serve", "--http", "127.0.0.1:0"])?;
    let served = KillOnDrop(serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("could not serve")?);
    let url = until("the daemon to serve HTTP", || {
        let status = stage.status()?;
        Ok(status["daemon"]["http"].as_str().map(str::to_owned))
    })?;
    let shown = stdout_of(&mut stage.hob(&["init", "--http"])?)?;
    let file = shown.lines().find_map(|line| line.split_once("only you can read: ")).context("no token is shown")?.1;
    let token = std::fs::read_to_string(file).context("could not read the token")?.trim().to_owned();
    let expected = vec![
        (task("start", "repl_start", json!({ "profile": "python" })), "[main: python"),
        (task("evaluate", "repl_eval", json!({ "code": "40+2" })), "42\n"),
        (task("raise", "repl_eval", json!({ "code": "1/0" })), "ZeroDivisionError"),
        (task("more tools", "more_tools", json!({ "toolset": "repl" })), "repl_list: "),
    ];
    let missed = played(agent, &stage, Server::Http { url, token }, expected)?;
    drop(stage.stop());
    drop(served);
    Ok(missed)
}

/// Kills the agent during an evaluation and restarts it. Returns the tasks whose correct results did not reach the
/// second model.
pub(super) fn killed(agent: &Agent, programs: &Programs<'_>) -> Result<Vec<&'static str>> {
    let stage = Stage::new(programs)?;
    let first = [
        task("start", "repl_start", json!({ "profile": "python" })),
        task("define", "repl_eval", json!({ "code": "x = 41" })),
        task("sleep", "repl_eval", json!({ "code": "import time; time.sleep(600)" })),
    ];
    let model = stage.model(&turns(&first, agent.before, agent.call))?;
    let setting = (agent.setting)(&stage.environment_for(stage.recorded("")?, &model));
    let mut command = stage.agent(agent, &setting)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = KillOnDrop(command.spawn().context("could not start the agent")?);
    until("the evaluation to run", || {
        let status = stage.status()?;
        let sessions = status["sessions"].as_array().into_iter().flatten();
        // The second one: the first, which defines, has ended.
        let sleeps = |session: &Value| session["state"] == "running" && session["evals"] == 1;
        Ok(sessions.into_iter().any(sleeps).then_some(()))
    })?;
    // Some agents are two processes of one program.
    let program = std::fs::read_link(format!("/proc/{}/exe", child.id())).context("the agent is gone")?;
    for pid in stage.processes(&program) {
        succeeds(Command::new("kill").args(["-KILL", &pid]));
    }
    child.wait().context("the agent did not end")?;
    drop(model);
    until("the dead agent's connection to end", || {
        let status = stage.status()?;
        let mut connections = status["connections"].as_array().into_iter().flatten();
        Ok((!connections.any(|connection| connection["role"] == "mcp")).then_some(()))
    })?;
    let expected = vec![
        (task("interrupt", "repl_interrupt", json!({})), "KeyboardInterrupt"),
        (task("evaluate", "repl_eval", json!({ "code": "x + 1" })), "42\n"),
    ];
    let server = stage.recorded("")?;
    let missed = played(agent, &stage, server, expected)?;
    stage.stop()?;
    Ok(missed)
}

/// Runs a node without a model, answered by the agent's own model. An invalid value is returned with its problems, and
/// a valid one is accepted. Returns the tasks whose correct results did not reach that model.
pub(super) fn delegated(agent: &Agent, programs: &Programs<'_>) -> Result<Vec<&'static str>> {
    let stage = Stage::new(programs)?;
    std::fs::create_dir(stage.project().join("nodes"))
        .and_then(|()| std::fs::write(stage.project().join("nodes/rate.node.md"), NODE))
        .context("could not write a node file")?;
    let submit = |name, score: u8| {
        let value = json!({ "reason": "It is about the weather.", "score": score });
        task(name, "node_submit", json!({ "ticket": { "$after": "`ticket`" }, "value": value }))
    };
    let expected = vec![
        (
            task("call a node", "rate", json!({ "text": "It rained." })),
            "Answer this prompt yourself, then call node_submit",
        ),
        (submit("submit a wrong value", 9), "/score: it is greater than the maximum of 5, got 9"),
        (submit("submit a right value", 2), r#"Accepted: {"reason":"It is about the weather.","score":2}"#),
    ];
    let missed = played(agent, &stage, stage.recorded("")?, expected)?;
    stage.stop()?;
    Ok(missed)
}

/// Runs the tasks. Returns those whose results lack the expected text.
fn played(agent: &Agent, stage: &Stage<'_>, server: Server, expected: Vec<Expected>) -> Result<Vec<&'static str>> {
    let (tasks, texts): (Vec<Task>, Vec<&str>) = expected.into_iter().unzip();
    let turns = turns(&tasks, agent.before, agent.call);
    let model = stage.model(&turns)?;
    let place = stage.environment_for(server, &model);
    outcome(&tasks, &texts, &turns, model, &mut stage.agent(agent, &(agent.setting)(&place))?)
}

/// Runs the agent to its end. Returns the tasks whose results lack these texts.
pub(super) fn outcome(
    tasks: &[Task],
    texts: &[&str],
    turns: &[Turn],
    model: Model,
    agent: &mut Command,
) -> Result<Vec<&'static str>> {
    let ended = stdout_of(agent);
    let results = record::results(&model.end()?, turns).with_context(|| format!("the agent said {ended:?}"))?;
    let reached = |index: usize, text: &str| {
        let escaped = Value::from(text).to_string();
        let mut of_task = results.iter().filter(|(of, _)| *of == index);
        of_task.any(|(_, result)| result.contains(text) || result.contains(escaped.trim_matches('"')))
    };
    let missed = tasks.iter().zip(texts).enumerate().filter(|(index, (_, text))| !reached(*index, text));
    Ok(missed.map(|(_, (task, _))| task.name).collect())
}

//! Cost of nodes in the daemon: calls through `hob mcp`, its memory, and the delay of other tools during calls of a slow model.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::super::echo::{Contender, daemon_pid};
use super::super::procfs::Memory;
use super::super::report::{Figure, Target};
use super::super::{Bench, Samples, median};
use super::model::Model;
use crate::client::Client;

const NODE: &str = "---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { reason: string ..200, score: integer 1..5 } }
---
{% block system %}You rate texts.{% endblock %}{% block user %}{{ text | data }}{% endblock %}
";

/// Number of concurrent waiting calls of a slow model.
const WAITING: usize = 64;
/// Number of such rounds, alternating with rounds without waiting calls.
const ROUNDS: usize = 5;

/// Arguments of a call of the node.
fn weather() -> Value {
    json!({ "text": "It rained all day, and the river rose." })
}

/// Measures a call of the node, which must return a value.
fn rate(agent: &mut Contender) -> Result<Duration> {
    let (took, result) = agent.call("rate", weather())?;
    if result["structuredContent"]["result"]["score"] != 2 {
        bail!("the node gave {result}");
    }
    Ok(took)
}

/// Writes the project's node and model.
fn write(bench: &Bench, model: &Model, cassettes: &str) -> Result<()> {
    let settings =
        format!("[nodes]\ncassettes = \"{cassettes}\"\nmodels.here = {{ url = \"{}\", model = \"m\" }}\n", model.url);
    std::fs::create_dir(bench.dir().join("nodes"))
        .and_then(|()| std::fs::write(bench.dir().join("nodes/rate.node.md"), NODE))
        .and_then(|()| std::fs::write(bench.dir().join("hob.toml"), settings))
        .context("could not write the project")
}

/// Measures the toolset in a project without node files.
pub(super) fn without_files(bench: &Bench) -> Result<Vec<Figure>> {
    let (mut starts, mut memory) = ([Samples::default(), Samples::default()], [Vec::new(), Vec::new()]);
    for _ in 0..bench.times(30) {
        for (of, toolsets) in ["mail", "mail,nodes"].iter().enumerate() {
            let begun = Instant::now();
            let mut agent = Contender::front_end(&mut bench.hob(&["mcp", toolsets]))?;
            starts[of].push(begun.elapsed());
            agent.request("tools/list", None)?;
            memory[of].push(Memory::read(daemon_pid(bench)?)?.resident);
            agent.finish()?;
            bench.stop()?;
        }
    }
    let [without, with] = memory.map(median);
    let start = |of: usize| starts[of].percentile(50) / 1000.0;
    Ok(vec![
        Figure {
            what: "no node files: from nothing to the greeting, p50".to_owned(),
            unit: "ms",
            value: start(1),
            floor: Some(("without the toolset", start(0))),
            target: Some(Target::MaxAboveFloor(5.0)),
        },
        Figure {
            what: "no node files: the daemon, resident".to_owned(),
            unit: "MiB",
            value: with,
            floor: Some(("without the toolset", without)),
            // The same limit as for any unused part.
            target: Some(Target::MaxAboveFloor(2.0)),
        },
    ])
}

/// Measures calls from a recording, and the memory they leave in the daemon.
pub(super) fn replayed(bench: &Bench) -> Result<Vec<Figure>> {
    let model = Model::prompt()?;
    // The first call is recorded.
    write(bench, &model, "refresh-stale")?;
    let mut agent = Contender::front_end(&mut bench.hob(&["mcp", "nodes"]))?;
    for _ in 0..100 {
        rate(&mut agent)?;
        agent.request("ping", None)?;
    }
    let daemon = daemon_pid(bench)?;
    let before = Memory::read(daemon)?.resident;
    let (mut calls, mut pings) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(10_000) {
        calls.push(rate(&mut agent)?);
        pings.push(agent.request("ping", None)?.0);
    }
    let growth = Memory::read(daemon)?.resident - before;
    agent.finish()?;
    let ms = |samples: &Samples, percent| samples.percentile(percent) / 1000.0;
    let figure = |percent: usize, target| Figure {
        what: format!("a replayed call through `hob mcp`, p{percent}"),
        unit: "ms",
        value: ms(&calls, percent),
        floor: Some(("ping", ms(&pings, percent))),
        target,
    };
    Ok(vec![
        figure(50, Some(Target::Max(1.0))),
        figure(99, None),
        Figure {
            what: "growth of the daemon by 10,000 of them".to_owned(),
            unit: "MiB",
            value: growth.max(0.0),
            floor: None,
            target: Some(Target::Max(10.0)),
        },
    ])
}

/// Measures another tool, alone and while calls of a slow model wait.
pub(super) fn beside_waiting_calls(bench: &Bench) -> Result<Vec<Figure>> {
    let model = Model::slow()?;
    write(bench, &model, "live")?;
    let mut other = Contender::front_end(&mut bench.hob(&["mcp", "repl"]))?;
    let mut agents = (0..4).map(|_| Client::start(&mut bench.hob(&["mcp", "nodes"]))).collect::<Result<Vec<_>>>()?;
    let (mut alone, mut beside) = (Samples::default(), Samples::default());
    let times = bench.times(2_000) / ROUNDS;
    for _ in 0..times {
        other.call("repl_list", json!({}))?;
    }
    for round in 1..=ROUNDS {
        for _ in 0..times {
            alone.push(other.call("repl_list", json!({}))?.0);
        }
        let mut waiting = Vec::new();
        for agent in 0..WAITING {
            let agent = agent % agents.len();
            waiting.push((agent, agents[agent].begin_call("rate", weather())?));
        }
        model.wait_for(round * WAITING);
        for _ in 0..times {
            beside.push(other.call("repl_list", json!({}))?.0);
        }
        model.answer_up_to(round * WAITING);
        for (agent, call) in waiting {
            let answer = agents[agent].answer(call)?.message;
            if answer["result"]["structuredContent"]["state"] != "done" {
                bail!("a call was answered with {answer}");
            }
        }
    }
    other.finish()?;
    agents.into_iter().try_for_each(Client::finish)?;
    let figure = |percent: usize, target| Figure {
        what: format!("repl_list beside {WAITING} calls that wait for a model, p{percent}"),
        unit: "µs",
        value: beside.percentile(percent),
        floor: Some(("alone", alone.percentile(percent))),
        target,
    };
    Ok(vec![figure(50, Some(Target::MaxTimesFloor(1.1))), figure(99, None)])
}

//! Cost of nodes in the daemon: calls through `hob mcp`, its memory, and the delay of other tools during calls of a slow model.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::agent::Pipes;

use super::super::echo::daemon_pid;
use super::super::procfs::Memory;
use super::super::report::{Figure, Target};
use super::super::{Bench, Samples};
use super::model::Model;

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

/// Starts a front-end and completes the handshake.
struct Line {
    pipes: Pipes,
    next_id: u64,
    read: Vec<u8>,
}

impl Line {
    fn start(bench: &Bench, args: &[&str]) -> Result<Line> {
        let mut line = Line { pipes: Pipes::start(&mut bench.hob(args))?, next_id: 1, read: Vec::new() };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
        });
        line.request("initialize", hello)?;
        Ok(line)
    }

    fn write(&mut self, method: &str, params: Value) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.pipes.write(format!("{request}\n").as_bytes())?;
        Ok(id)
    }

    /// Measures a request.
    fn request(&mut self, method: &str, params: Value) -> Result<Duration> {
        let id = self.next_id;
        self.next_id += 1;
        let request = format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let begun = Instant::now();
        self.pipes.round_trip(request.as_bytes(), id, &mut self.read)?;
        Ok(begun.elapsed())
    }

    /// Measures a call of the node, which must return a value.
    fn rate(&mut self) -> Result<Duration> {
        let took = self.request("tools/call", rate())?;
        let answer: Value = serde_json::from_slice(&self.read).context("an answer that is no JSON")?;
        if answer["result"]["structuredContent"]["result"]["score"] != 2 {
            bail!("the node gave {answer}");
        }
        Ok(took)
    }

    /// Reads `count` answers.
    fn answers(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            self.pipes.read_line(&mut self.read)?;
            let message: Value = serde_json::from_slice(&self.read).context("a line that is no message")?;
            if message["result"]["structuredContent"]["state"] == "done" {
                count -= 1;
            } else if message.get("method").is_none() {
                bail!("a call was answered with {message}");
            }
        }
        Ok(())
    }
}

fn rate() -> Value {
    json!({ "name": "rate", "arguments": { "text": "It rained all day, and the river rose." } })
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
            let mut line = Line::start(bench, &["mcp", toolsets])?;
            starts[of].push(begun.elapsed());
            line.request("tools/list", json!({}))?;
            memory[of].push(Memory::read(daemon_pid(bench)?)?.resident);
            line.pipes.finish()?;
            bench.stop()?;
        }
    }
    let median = |of: usize| {
        let mut sorted = memory[of].clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    };
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
            value: median(1),
            floor: Some(("without the toolset", median(0))),
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
    let mut line = Line::start(bench, &["mcp", "nodes"])?;
    for _ in 0..100 {
        line.rate()?;
        line.request("ping", json!({}))?;
    }
    let daemon = daemon_pid(bench)?;
    let before = Memory::read(daemon)?.resident;
    let (mut calls, mut pings) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(10_000) {
        calls.push(line.rate()?);
        pings.push(line.request("ping", json!({}))?);
    }
    let growth = Memory::read(daemon)?.resident - before;
    line.pipes.finish()?;
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
    let mut other = Line::start(bench, &["mcp", "repl"])?;
    let mut waiting = (0..4).map(|_| Line::start(bench, &["mcp", "nodes"])).collect::<Result<Vec<_>>>()?;
    let list = json!({ "name": "repl_list", "arguments": {} });
    let (mut alone, mut beside) = (Samples::default(), Samples::default());
    let times = bench.times(2_000) / ROUNDS;
    for _ in 0..times {
        other.request("tools/call", list.clone())?;
    }
    for round in 1..=ROUNDS {
        for _ in 0..times {
            alone.push(other.request("tools/call", list.clone())?);
        }
        for line in &mut waiting {
            for _ in 0..WAITING / 4 {
                line.write("tools/call", rate())?;
            }
        }
        model.wait_for(round * WAITING);
        for _ in 0..times {
            beside.push(other.request("tools/call", list.clone())?);
        }
        model.answer_up_to(round * WAITING);
        waiting.iter_mut().try_for_each(|line| line.answers(WAITING / 4))?;
    }
    other.pipes.finish()?;
    waiting.into_iter().try_for_each(|line| line.pipes.finish())?;
    let figure = |percent: usize, target| Figure {
        what: format!("repl_list beside {WAITING} calls that wait for a model, p{percent}"),
        unit: "µs",
        value: beside.percentile(percent),
        floor: Some(("alone", alone.percentile(percent))),
        target,
    };
    Ok(vec![figure(50, Some(Target::MaxTimesFloor(1.1))), figure(99, None)])
}

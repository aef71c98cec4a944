//! Latency of an answer: from a person's request to the waiting call's result and to every subscriber; and the total
//! time of `hob answer`.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::super::report::{Figure, Target};
use super::super::{Bench, Samples};
use super::{ask, id_of};

/// Number of subscribers.
const FACES: usize = 3;
/// Pause before each measurement, after which sleeping threads must be woken.
const PAUSE: Duration = Duration::from_millis(10);
/// Approximate size of a question in its file, in bytes.
const BODY: usize = 900;

/// Measures from an answer to the result of the waiting call, and to each subscriber.
pub(super) fn answers(bench: &Bench) -> Result<Vec<Figure>> {
    let mut agent = super::agent(bench, &["ask"], false)?;
    let mut faces = (0..FACES).map(|_| super::person(bench)).collect::<Result<Vec<_>>>()?;
    faces.iter_mut().try_for_each(|face| face.request("ask/watch", json!({})).map(drop))?;
    let mut person = super::person(bench)?;
    let mut file = File::create(bench.dir().join("floor")).context("could not make the floor's file")?;
    let (mut floor, mut out, mut closed) = (Samples::default(), Samples::default(), Samples::default());
    for number in 0..bench.times(1_000) {
        let waits =
            agent.begin_call("confirm_action", json!({ "action": format!("Go on, {number}?"), "wait_s": 60 }))?;
        let mut asked = None;
        for face in &mut faces {
            let shown = face.first(Duration::from_secs(10), |message| message["params"]["open"] == true)?;
            asked = Some(id_of(&shown.message["params"])?);
        }
        let id = asked.context("no face watches")?;
        thread::sleep(PAUSE);
        let begun = Instant::now();
        file.write_all(&[b'x'; BODY])?;
        file.sync_data()?;
        floor.push(begun.elapsed());
        thread::sleep(PAUSE);
        let begun = Instant::now();
        let answer = person.begin("ask/answer", json!({ "question": id, "yes": true }))?;
        let result = agent.answer(waits)?;
        if result.message["result"]["structuredContent"]["confirmed"] != true {
            bail!("the call was answered with {}", result.message);
        }
        out.push(result.at.saturating_duration_since(begun));
        for face in &mut faces {
            let is_closed =
                |message: &serde_json::Value| message["params"]["open"] == false && message["params"]["question"] == id;
            closed.push(face.first(Duration::from_secs(10), is_closed)?.at.saturating_duration_since(begun));
        }
        person.answer(answer)?;
    }
    let one = |percent: usize, samples: &Samples, what: &str, target| Figure {
        what: format!("{what}, p{percent}"),
        unit: "µs",
        value: samples.percentile(percent),
        floor: Some(("append + sync", floor.percentile(percent))),
        target,
    };
    let to_result = "answer to the waiting call's result";
    Ok(vec![
        one(50, &out, to_result, Some(Target::MaxAboveFloor(1_000.0))),
        one(99, &out, to_result, Some(Target::MaxAboveFloor(10_000.0))),
        one(50, &closed, "answer to closed on three faces", None),
        one(100, &closed, "answer to closed on three faces", Some(Target::Max(100_000.0))),
    ])
}

/// Measures `hob answer ID --yes`, alternating with an idle start of the same binary.
pub(super) fn command(bench: &Bench) -> Result<Vec<Figure>> {
    let mut agent = super::agent(bench, &["ask"], false)?;
    let timed = |command: &mut Command| -> Result<Duration> {
        let begun = Instant::now();
        let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            bail!("it ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        Ok(begun.elapsed())
    };
    let (mut bare, mut answered) = (Samples::default(), Samples::default());
    for number in 0..bench.times(200) {
        let id = ask(&mut agent, &format!("Go on, {number}?"))?;
        bare.push(timed(&mut bench.hob(&["--version"]))?);
        answered.push(timed(&mut bench.hob(&["answer", &id, "--yes"]))?);
    }
    let figure = |percent: usize, target| Figure {
        what: format!("hob answer ID --yes, start to end, p{percent}"),
        unit: "µs",
        value: answered.percentile(percent),
        floor: Some(("hob --version", bare.percentile(percent))),
        target,
    };
    Ok(vec![figure(50, Some(Target::MaxAboveFloor(10_000.0))), figure(99, None)])
}

/// Measures the size of the whole toolset in a listing. The tests, which have a tokenizer, count its tokens.
pub(super) fn listing(bench: &Bench) -> Result<Vec<Figure>> {
    let mut agent = super::agent(bench, &["ask"], false)?;
    let listed = agent.request("tools/list", json!({}))?;
    let tools = listed["tools"].as_array().context("no tools")?;
    let read = |tool: &serde_json::Value| {
        let text = |key: &str| tool[key].as_str().unwrap_or_default().len();
        text("name") + text("description") + tool["inputSchema"].to_string().len()
    };
    Ok(vec![Figure {
        what: format!("the toolset's listing, {} tools: what a model reads", tools.len()),
        unit: "bytes",
        value: tools.iter().map(read).sum::<usize>() as f64,
        floor: None,
        target: None,
    }])
}

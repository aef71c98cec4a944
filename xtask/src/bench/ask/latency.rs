//! How soon an answer is where it belongs: with the call that waits, and on every face; and how long `hob answer` takes.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::super::report::{Figure, Target};
use super::super::{Bench, Samples};
use super::line::Line;
use super::open;

/// The pause before each measurement: answers come after one.
const PAUSE: Duration = Duration::from_millis(10);
/// Faces that watch besides the one that answers.
const FACES: usize = 3;
/// About as many bytes as a stored question has.
const ROW: usize = 800;

/// From giving an answer, which is stored meanwhile, to the result of the waiting call, and to the last face.
pub(super) fn wakes(bench: &Bench) -> Result<Vec<Figure>> {
    let mut agent = Line::agent(bench, "ask", json!({}))?;
    let mut faces = (0..FACES).map(|_| Line::control(bench)).collect::<Result<Vec<_>>>()?;
    for face in &mut faces {
        face.request("ask/watch", json!({}))?;
    }
    let mut person = Line::control(bench)?;
    let mut disk = File::create(bench.dir().join("floor")).context("could not make the floor's file")?;
    let (mut floor, mut results, mut stored, mut closed) =
        (Samples::default(), Samples::default(), Samples::default(), Samples::default());
    for number in 0..bench.times(1_000) {
        let title = format!("Delete branch {number}?");
        let call = agent.begin_call("confirm_action", json!({ "action": title, "wait_s": 60 }))?;
        let is_change = |is_open: bool| {
            let title = title.clone();
            move |message: &Value| {
                let question = &message["params"];
                message["method"] == "ask/changed" && question["title"] == *title && question["open"] == is_open
            }
        };
        let mut shown = Value::Null;
        for face in &mut faces {
            shown = face.next("a question on a face", is_change(true))?.1;
        }
        thread::sleep(PAUSE);
        let begun = Instant::now();
        disk.write_all(&[b'x'; ROW])?;
        disk.sync_data()?;
        floor.push(begun.elapsed());
        thread::sleep(PAUSE);
        let begun = Instant::now();
        let answer = json!({ "question": shown["params"]["question"], "yes": true });
        let id = person.begin("ask/answer", answer)?;
        let (at, result) = agent.answer(call)?;
        if result["result"]["structuredContent"]["confirmed"] != true {
            bail!("the waiting call got {result}");
        }
        results.push(at.saturating_duration_since(begun));
        stored.push(person.answer(id)?.0.saturating_duration_since(begun));
        let mut last = begun;
        for face in &mut faces {
            last = last.max(face.next("a closed question on a face", is_change(false))?.0);
            face.forget();
        }
        closed.push(last.saturating_duration_since(begun));
    }
    let figure = |what: &str, samples: &Samples, percent: usize, above: Option<f64>| Figure {
        what: format!("{what}, p{percent}"),
        unit: "µs",
        value: samples.percentile(percent),
        floor: Some(("append + sync", floor.percentile(percent))),
        target: above.map(Target::MaxAboveFloor),
    };
    let slowest = closed.percentile(100) / 1e3;
    Ok(vec![
        figure("answer given to the waiting call's result", &results, 50, Some(1_000.0)),
        figure("answer given to the waiting call's result", &results, 99, Some(10_000.0)),
        figure("… to the word that it is stored", &stored, 50, None),
        figure("… to the word that it is stored", &stored, 99, None),
        figure("… to closed on the last of three faces", &closed, 50, None),
        super::figure("… to closed on the last of three faces, slowest", "ms", slowest, Some(100.0)),
    ])
}

/// `hob answer ID --yes` from start to end.
pub(super) fn hob_answer(bench: &Bench) -> Result<Vec<Figure>> {
    let mut agent = Line::agent(bench, "ask", json!({}))?;
    let mut control = Line::control(bench)?;
    let timed = |command: &mut Command| -> Result<Duration> {
        let begun = Instant::now();
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        if !status.success() {
            bail!("it ended with {status}");
        }
        Ok(begun.elapsed())
    };
    let (mut answers, mut empty) = (Samples::default(), Samples::default());
    for number in 0..bench.times(300) {
        agent.call("confirm_action", json!({ "action": format!("Delete {number}?"), "wait_s": 0 }))?;
        let open = open(&mut control)?;
        let id = open.first().and_then(|open| open["question"].as_str()).context("no question is open")?;
        empty.push(timed(&mut bench.program("floor-empty"))?);
        answers.push(timed(&mut bench.hob(&["answer", id, "--yes"]))?);
    }
    let figure = |percent: usize, target| Figure {
        what: format!("hob answer ID --yes, start to end, p{percent}"),
        unit: "µs",
        value: answers.percentile(percent),
        floor: Some(("an empty program", empty.percentile(percent))),
        target,
    };
    Ok(vec![figure(50, Some(Target::MaxAboveFloor(10_000.0))), figure(99, None)])
}

//! How long one message takes, through real front-ends: to its acknowledgement, and to whoever waits for it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::super::echo::Contender;
use super::super::report::{Figure, Target};
use super::super::{Bench, Samples};
use super::{BODY, Floor, agent, done, register, to};
use crate::agent::Agent;

/// Before what is measured cold.
const PAUSE: Duration = Duration::from_millis(10);

/// A send to its answer.
pub(super) fn sends(bench: &Bench) -> Result<Vec<Figure>> {
    ["sender", "sink"].iter().try_for_each(|name| register(bench, name))?;
    let (mut floor, mut sender) = (Floor::new(bench)?, agent(bench, "sender")?);
    let body = "x".repeat(BODY);
    let mut sent = Samples::default();
    for _ in 0..bench.times(2_000) {
        floor.append(body.as_bytes())?;
        let begun = Instant::now();
        done(&sender.call("send_message", to("sink", &body))?)?;
        sent.push(begun.elapsed());
    }
    sender.finish()?;
    let most = 1.5 * floor.taken.percentile(50) + 300.0;
    let what = "send of 500 bytes to its answer";
    let mut figures = vec![floor.beside(what, &sent, 50, Some(Target::AtMost(most)))];
    figures.extend([90, 99].map(|percent| floor.beside(what, &sent, percent, None)));
    Ok(figures)
}

/// From the beginning of a send to the answer of who waits for it.
pub(super) fn wakes(bench: &Bench) -> Result<Vec<Figure>> {
    let (samples, floor) = wakes_between(bench, bench, bench.times(1_000))?;
    let what = "send to wake of a blocked waiter";
    let most = |percent: usize, above: f64| Some(Target::AtMost(floor.taken.percentile(percent) + above));
    Ok(vec![
        floor.beside(what, &samples, 50, most(50, 1_000.0)),
        floor.beside(what, &samples, 90, None),
        floor.beside(what, &samples, 99, most(99, 10_000.0)),
    ])
}

/// The same from one project to another one of the same space. Both the append of the floor and the send come after a
/// pause, as messages do: what sleeps has to be woken on the way.
pub(super) fn wakes_between(from: &Bench, to_there: &Bench, times: usize) -> Result<(Samples, Floor)> {
    register(from, "sender")?;
    register(to_there, "waiter")?;
    let mut floor = Floor::new(from)?;
    let mut sender = Contender::pipes(&mut from.hob(&["mcp", "mail", "--as", "sender"]))?;
    sender.open()?;
    let mut waiter = to_there.hob(&["mcp", "mail", "--as", "waiter"]);
    let body = "x".repeat(BODY);
    let (woken, wakes) = channel();
    let thread = thread::spawn(move || -> Result<()> {
        let mut waiter = Contender::pipes(&mut waiter)?;
        waiter.open()?;
        for _ in 0..times {
            let (_, result) = waiter.call("wait_for_message", json!({ "timeout": 60 }))?;
            let at = Instant::now();
            if done(&result)?["status"] != "message_received" {
                bail!("a waiter was not woken");
            }
            woken.send(at)?;
        }
        waiter.finish()
    });
    let mut samples = Samples::default();
    for _ in 0..times {
        thread::sleep(PAUSE);
        floor.append(body.as_bytes())?;
        // Meanwhile the waiter is blocked again.
        thread::sleep(PAUSE);
        let begun = Instant::now();
        sender.call("send_message", to("waiter", &body))?;
        samples.push(wakes.recv_timeout(Duration::from_secs(60))?.saturating_duration_since(begun));
    }
    thread.join().expect("the waiter does not panic")?;
    sender.finish()?;
    Ok((samples, floor))
}

/// The whole of `hob wait`, where a message waits already; and its wake, where none does.
pub(super) fn doorbell(bench: &Bench) -> Result<Vec<Figure>> {
    ["sender", "sink", "bell"].iter().try_for_each(|name| register(bench, name))?;
    let (mut floor, mut sender) = (Floor::new(bench)?, agent(bench, "sender")?);
    done(&sender.call("send_message", to("sink", "there"))?)?;
    let timed = |command: &mut Command| -> Result<Duration> {
        let begun = Instant::now();
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        if !status.success() {
            bail!("it ended with {status}");
        }
        Ok(begun.elapsed())
    };
    let (mut waits, mut empty) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(300) {
        empty.push(timed(&mut bench.program("floor-empty"))?);
        waits.push(timed(&mut bench.hob(&["wait", "--as", "sink", "--timeout", "60"]))?);
    }
    let figure = |percent: usize, target| Figure {
        what: format!("hob wait where a message waits, start to end, p{percent}"),
        unit: "µs",
        value: waits.percentile(percent),
        floor: Some(("an empty program", empty.percentile(percent))),
        target,
    };
    let mut figures = vec![figure(50, Some(Target::Above(5_000.0))), figure(99, None)];
    figures.extend(rung(bench, &mut floor, &mut sender)?);
    sender.finish()?;
    Ok(figures)
}

/// From a send to the line of a `hob wait` that was blocked, and what the wait cost the processor.
fn rung(bench: &Bench, floor: &mut Floor, sender: &mut Agent) -> Result<Vec<Figure>> {
    let (mut samples, mut used) = (Samples::default(), 0.0_f64);
    for number in 0..bench.times(200) {
        let after = number.to_string();
        let mut waiting = bench.hob(&["wait", "--as", "bell", "--timeout", "60", "--after", &after]);
        let mut waiting = waiting.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = BufReader::new(waiting.stdout.take().context("stdout is a pipe")?);
        // Read beside the sender's answer, which may come later.
        let told = thread::spawn(move || -> Result<(Instant, bool)> {
            let mut told = String::new();
            line.read_line(&mut told)?;
            Ok((Instant::now(), !told.is_empty()))
        });
        // Until it is blocked.
        thread::sleep(Duration::from_millis(30));
        let before = super::crowd::cpu(waiting.id())?;
        floor.append(&[b'x'; BODY])?;
        thread::sleep(Duration::from_millis(30));
        used += super::crowd::cpu(waiting.id())? - before;
        let begun = Instant::now();
        done(&sender.call("send_message", to("bell", &"x".repeat(BODY)))?)?;
        let (at, is_told) = told.join().expect("reading does not panic")?;
        samples.push(at.saturating_duration_since(begun));
        if !is_told || !waiting.wait()?.success() {
            bail!("hob wait was not woken");
        }
    }
    let what = "send to the line of a blocked hob wait";
    let most = |percent: usize, above: f64| Some(Target::AtMost(floor.taken.percentile(percent) + above));
    Ok(vec![
        floor.beside(what, &samples, 50, most(50, 1_000.0)),
        floor.beside(what, &samples, 99, most(99, 10_000.0)),
        Figure {
            what: "processor time of hob wait while blocked".to_owned(),
            unit: "ms",
            value: used,
            floor: None,
            target: Some(Target::AtMost(0.0)),
        },
    ])
}

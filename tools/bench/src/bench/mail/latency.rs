//! Latency of a message through real front-ends: to its acknowledgement, and to its blocked receiver.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::super::echo::Contender;
use super::super::procfs::processor_ms;
use super::super::report::{Figure, Target};
use super::super::{Bench, Samples};
use super::{BODY, DiskFloor, agent, message_to, register, structured};
use crate::client::Client;

/// The pause before each cold measurement.
const PAUSE: Duration = Duration::from_millis(10);

/// From a send to its answer.
pub(super) fn sends(bench: &Bench) -> Result<Vec<Figure>> {
    let mut floor = DiskFloor::new(bench)?;
    let sent = timed_sends(bench, || floor.append(&[b'x'; BODY]).map(drop))?;
    let most = 1.5 * floor.samples.percentile(50) + 300.0;
    let what = "send of 500 bytes to its answer";
    let mut figures = vec![floor.percentile_figure(what, &sent, 50, Some(Target::Max(most)))];
    figures.extend([90, 99].map(|percent| floor.percentile_figure(what, &sent, percent, None)));
    Ok(figures)
}

/// Measures sends after another action each.
pub(super) fn timed_sends(bench: &Bench, mut before_each: impl FnMut() -> Result<()>) -> Result<Samples> {
    ["sender", "sink"].iter().try_for_each(|name| register(bench, name))?;
    let (mut sender, body) = (agent(bench, "sender")?, "x".repeat(BODY));
    let mut sent = Samples::default();
    for _ in 0..bench.times(2_000) {
        before_each()?;
        let begun = Instant::now();
        structured(&sender.call("send_message", message_to("sink", &body))?)?;
        sent.push(begun.elapsed());
    }
    sender.finish()?;
    Ok(sent)
}

/// From the beginning of a send to the answer of the blocked waiter.
pub(super) fn wakes(bench: &Bench) -> Result<Vec<Figure>> {
    let (samples, floor) = wakes_between(bench, bench, bench.times(1_000))?;
    let what = "send to wake of a blocked waiter";
    let most = |percent: usize, above: f64| Some(Target::Max(floor.samples.percentile(percent) + above));
    Ok(vec![
        floor.percentile_figure(what, &samples, 50, most(50, 1_000.0)),
        floor.percentile_figure(what, &samples, 90, None),
        floor.percentile_figure(what, &samples, 99, most(99, 10_000.0)),
    ])
}

/// [`wakes`] from one project to another of the same space. The floor's append and the send both follow a pause, as
/// messages do, so that sleeping threads have to be woken.
pub(super) fn wakes_between(from: &Bench, to_there: &Bench, times: usize) -> Result<(Samples, DiskFloor)> {
    register(from, "sender")?;
    register(to_there, "waiter")?;
    let mut floor = DiskFloor::new(from)?;
    let mut sender = Contender::front_end(&mut from.hob(&["mcp", "mail", "--as", "sender"]))?;
    let mut waiter = to_there.hob(&["mcp", "mail", "--as", "waiter"]);
    let body = "x".repeat(BODY);
    let (woken, wakes) = channel();
    let thread = thread::spawn(move || -> Result<()> {
        let mut waiter = Contender::front_end(&mut waiter)?;
        for _ in 0..times {
            let (_, result) = waiter.call("wait_for_message", json!({ "timeout": 60 }))?;
            let at = Instant::now();
            if structured(&result)?["status"] != "message_received" {
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
        // By then the waiter is blocked again.
        thread::sleep(PAUSE);
        let begun = Instant::now();
        sender.call("send_message", message_to("waiter", &body))?;
        samples.push(wakes.recv_timeout(Duration::from_secs(60))?.saturating_duration_since(begun));
    }
    thread.join().expect("the waiter does not panic")?;
    sender.finish()?;
    Ok((samples, floor))
}

/// Measures `hob wait` from start to end with a waiting message, and its wake-up without one.
pub(super) fn hob_wait(bench: &Bench) -> Result<Vec<Figure>> {
    ["sender", "sink", "bell"].iter().try_for_each(|name| register(bench, name))?;
    let (mut floor, mut sender) = (DiskFloor::new(bench)?, agent(bench, "sender")?);
    structured(&sender.call("send_message", message_to("sink", "there"))?)?;
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
    let mut figures = vec![figure(50, Some(Target::MaxAboveFloor(5_000.0))), figure(99, None)];
    figures.extend(hob_wait_wakes(bench, &mut floor, &mut sender)?);
    sender.finish()?;
    Ok(figures)
}

/// From a send to the output of a blocked `hob wait`, and the processor time of the wait.
fn hob_wait_wakes(bench: &Bench, floor: &mut DiskFloor, sender: &mut Client) -> Result<Vec<Figure>> {
    let (mut samples, mut used) = (Samples::default(), 0.0_f64);
    for number in 0..bench.times(200) {
        let after = number.to_string();
        let mut waiting = bench.hob(&["wait", "--as", "bell", "--timeout", "60", "--after", &after]);
        let mut waiting = waiting.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = BufReader::new(waiting.stdout.take().context("stdout is a pipe")?);
        // On a thread, since the sender's answer may come later.
        let told = thread::spawn(move || -> Result<(Instant, bool)> {
            let mut told = String::new();
            line.read_line(&mut told)?;
            Ok((Instant::now(), !told.is_empty()))
        });
        // By then `hob wait` is blocked.
        thread::sleep(Duration::from_millis(30));
        let before = processor_ms(waiting.id())?;
        floor.append(&[b'x'; BODY])?;
        thread::sleep(Duration::from_millis(30));
        used += processor_ms(waiting.id())? - before;
        let begun = Instant::now();
        structured(&sender.call("send_message", message_to("bell", &"x".repeat(BODY)))?)?;
        let (at, is_told) = told.join().expect("reading does not panic")?;
        samples.push(at.saturating_duration_since(begun));
        if !is_told || !waiting.wait()?.success() {
            bail!("hob wait was not woken");
        }
    }
    let what = "send to the line of a blocked hob wait";
    let most = |percent: usize, above: f64| Some(Target::Max(floor.samples.percentile(percent) + above));
    Ok(vec![
        floor.percentile_figure(what, &samples, 50, most(50, 1_000.0)),
        floor.percentile_figure(what, &samples, 99, most(99, 10_000.0)),
        Figure {
            what: "processor time of hob wait while blocked".to_owned(),
            unit: "ms",
            value: used,
            floor: None,
            target: Some(Target::Max(0.0)),
        },
    ])
}

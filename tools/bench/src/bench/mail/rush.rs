//! Many concurrent senders: fifty connections with one call in flight each, and two hundred mailboxes that are drained
//! meanwhile. Counts the messages that arrived.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use super::super::Bench;
use super::super::Samples;
use super::super::report::{Figure, Target};
use super::connection::Connection;
use super::{BODY, DiskFloor, count_figure, message_to, register};

pub(super) const MAILBOXES: usize = 200;
pub(super) const SENDERS: usize = 50;
/// Threads that drain the mailboxes.
const DRAINS: usize = 2;
/// The minimum duration of a round over all mailboxes.
const ROUND: Duration = Duration::from_millis(250);
/// Messages to a sync in the floor.
const GROUP: usize = 64;

/// `suffix` is appended to the names of the figures.
pub(super) fn measure(bench: &Bench, suffix: &str) -> Result<Vec<Figure>> {
    // This starts the daemon.
    register(bench, "starter")?;
    let seconds = if bench.is_quick { 2 } else { 10 };
    let mut floor = DiskFloor::new(bench)?;
    let group = vec![b'x'; BODY * GROUP];
    let half = bench.times(200);
    (0..half).try_for_each(|_| floor.append(&group).map(drop))?;
    let ended = Arc::new(AtomicBool::new(false));
    let mut drains = Vec::new();
    for part in 0..DRAINS {
        let boxes = (part..MAILBOXES).step_by(DRAINS);
        let boxes = boxes.map(|n| Connection::open(bench, &format!("box-{n}"), "box")).collect::<Result<Vec<_>>>()?;
        let ended = ended.clone();
        drains.push(thread::spawn(move || drain(boxes, &ended)));
    }
    let senders =
        (0..SENDERS).map(|n| Connection::open(bench, &format!("sender-{n}"), "load")).collect::<Result<Vec<_>>>()?;
    let begun = Instant::now();
    let until = begun + Duration::from_secs(seconds);
    let senders: Vec<_> =
        senders.into_iter().enumerate().map(|(n, line)| thread::spawn(move || send(line, n, until))).collect();
    let (mut sent, mut times) = (Vec::new(), Samples::default());
    for sender in senders {
        let (ids, took) = sender.join().expect("a sender does not panic")?;
        sent.extend(ids);
        took.0.into_iter().for_each(|one| times.push(one));
    }
    let rate = sent.len() as f64 / begun.elapsed().as_secs_f64();
    ended.store(true, Ordering::Relaxed);
    let mut got = BTreeMap::<String, usize>::new();
    for drain in drains {
        drain.join().expect("a drain does not panic")?.into_iter().for_each(|id| *got.entry(id).or_default() += 1);
    }
    (0..half).try_for_each(|_| floor.append(&group).map(drop))?;
    let floor_rate = GROUP as f64 * 1e6 / floor.samples.percentile(50);
    let lost = sent.iter().filter(|id| !got.contains_key(*id)).count();
    let doubled = got.values().filter(|count| **count > 1).count();
    let target = suffix.is_empty().then(|| Target::MinTimesFloor((5_000.0 / floor_rate).min(0.5)));
    let name = format!("{SENDERS} connections sending to {MAILBOXES} mailboxes that are drained{suffix}");
    let rate = Figure { what: name, unit: "/s", value: rate, floor: Some(("64 to a sync", floor_rate)), target };
    let each = |percent| Figure {
        what: format!("… each send, p{percent}"),
        unit: "µs",
        value: times.percentile(percent),
        floor: None,
        target: None,
    };
    Ok(vec![
        rate,
        each(50),
        each(99),
        count_figure("… acknowledged", sent.len(), None),
        count_figure("… lost", lost, Some(0.0)),
        count_figure("… handed out twice", doubled, Some(0.0)),
    ])
}

fn send(mut line: Connection, number: usize, until: Instant) -> Result<(Vec<String>, Samples)> {
    let body = "x".repeat(BODY);
    let (mut ids, mut times) = (Vec::new(), Samples::default());
    while Instant::now() < until {
        let mailbox = (number * 31 + ids.len() * 7) % MAILBOXES;
        let begun = Instant::now();
        line.call("send_message", &message_to(&format!("box-{mailbox}"), &body))?;
        times.push(begun.elapsed());
        ids.push(line.message_id()?);
    }
    Ok((ids, times))
}

fn drain(mut boxes: Vec<Connection>, ended: &AtomicBool) -> Result<Vec<String>> {
    let mut got = Vec::new();
    loop {
        let (was_over, before, begun) = (ended.load(Ordering::Relaxed), got.len(), Instant::now());
        for line in &mut boxes {
            line.call("check_messages", &json!({ "limit": 100 }))?;
            let said = line.structured()?;
            for message in said["messages"].as_array().context("no messages in the answer")? {
                got.push(message["message_id"].as_str().unwrap_or_default().to_owned());
            }
        }
        if was_over && got.len() == before {
            return Ok(got);
        }
        thread::sleep(ROUND.saturating_sub(begun.elapsed()));
    }
}

//! Mail at scale: a thousand idle waiters, and two hundred full mailboxes.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::super::echo::daemon_pid;
use super::super::procfs::{Memory, processor_ms};
use super::super::report::{Figure, Target};
use super::super::{Bench, Samples};
use super::connection::Connection;
use super::{BODY, register};

/// Number of idle waiters, each on a separate connection.
const WAITERS: usize = 1_000;
/// Number of full mailboxes, and of messages in each.
const MAILBOXES: usize = 200;
const MESSAGES: usize = 10_000;
/// Number of connections that fill the mailboxes.
const FILLERS: usize = 8;

/// Measures the memory and processor time of waiters that get no mail.
pub(super) fn idle(bench: &Bench) -> Result<Vec<Figure>> {
    register(bench, "starter")?;
    let pid = daemon_pid(bench)?;
    let before = Memory::read(pid)?.resident;
    let mut waiters = Vec::new();
    for number in 0..WAITERS {
        waiters.push(Connection::open(bench, &format!("idle-{number}"), "idle")?);
    }
    let connected = Memory::read(pid)?.resident;
    for waiter in &mut waiters {
        waiter.begin("wait_for_message", &json!({ "timeout": 600 }))?;
    }
    thread::sleep(Duration::from_secs(2));
    let (grown, began) = (Memory::read(pid)?.resident, processor_ms(pid)?);
    thread::sleep(Duration::from_secs(5));
    let used = processor_ms(pid)? - began;
    let figure = |what: &str, unit, value, most: Option<f64>| Figure {
        what: what.to_owned(),
        unit,
        value,
        floor: None,
        target: most.map(Target::Max),
    };
    Ok(vec![
        figure("1,000 idle waiters on 1,000 connections: the daemon grows by", "MiB", grown - before, Some(60.0)),
        figure("… of which waiting, beyond being connected and registered", "MiB", grown - connected, None),
        // A waiting call sends a heartbeat every ten seconds, if the client wants progress; a tick is 10 ms.
        figure("… processor time of the daemon in 5 s", "ms", used, Some(10.0)),
    ])
}

/// Measures reading from full mailboxes.
pub(super) fn large(bench: &Bench) -> Result<Vec<Figure>> {
    register(bench, "starter")?;
    let (boxes, messages) = if bench.is_quick { (20, 500) } else { (MAILBOXES, MESSAGES) };
    let mut boxes =
        (0..boxes).map(|n| Connection::open(bench, &format!("box-{n}"), "box")).collect::<Result<Vec<_>>>()?;
    let begun = Instant::now();
    let fillers = (0..FILLERS).map(|n| {
        let mut line = Connection::open(bench, &format!("filler-{n}"), "filler")?;
        Ok(thread::spawn(move || -> Result<()> {
            let call = json!({ "to": "role:box", "content": "x".repeat(BODY) });
            (0..messages / FILLERS).try_for_each(|_| line.call("send_message", &call))
        }))
    });
    let fillers = fillers.collect::<Result<Vec<_>>>()?;
    fillers.into_iter().try_for_each(|filler| filler.join().expect("a filler does not panic"))?;
    let filled = (boxes.len() * messages) as f64 / begun.elapsed().as_secs_f64();
    let (mut check, mut look, mut ping) = (Samples::default(), Samples::default(), Samples::default());
    let rounds = bench.times(2_000);
    let count = boxes.len();
    for round in 0..rounds {
        let line = &mut boxes[(round * 7) % count];
        let begun = Instant::now();
        line.call("groups", &json!({ "action": "list" }))?;
        ping.push(begun.elapsed());
        let begun = Instant::now();
        line.call("check_messages", &json!({ "limit": 50 }))?;
        check.push(begun.elapsed());
        let said = line.structured()?;
        let handed = said["messages"].as_array().map_or(0, Vec::len);
        let left = said["remaining"].as_u64().context("no `remaining`")?;
        // Each visit of a mailbox takes fifty messages, and `remaining` is exact.
        let visits = round / count + 1;
        if handed != 50 || left != (messages - visits * 50) as u64 {
            bail!("{handed} handed out, {left} said to remain at visit {visits} of a mailbox of {messages}");
        }
        let begun = Instant::now();
        line.call("wait_for_message", &json!({ "timeout": 0, "after": 0, "max": 50 }))?;
        look.push(begun.elapsed());
    }
    let figure = |what: &str, samples: &Samples, percent, most: Option<f64>| Figure {
        what: format!("{what}, p{percent}"),
        unit: "µs",
        value: samples.percentile(percent),
        floor: Some(("groups", ping.percentile(percent))),
        target: most.map(Target::Max),
    };
    let what = format!("{count} mailboxes of {messages}: fetch of 50 with `remaining`");
    Ok(vec![
        figure(&what, &check, 50, None),
        figure(&what, &check, 99, Some(5_000.0)),
        figure("… only looked at by cursor", &look, 50, None),
        figure("… only looked at by cursor", &look, 99, Some(5_000.0)),
        Figure { what: "… filled at, deliveries".to_owned(), unit: "/s", value: filled, floor: None, target: None },
    ])
}

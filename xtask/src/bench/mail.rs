//! Messages between agents, through real front-ends, against the disk: the floor of a send is appending the same bytes
//! and syncing them, measured in between; the floor of a rush is one sync for many.
//!
//! The last figures are counts: what was acknowledged while the daemon was killed again and again, and what of it is
//! missing or doubled afterwards. `HOB_MAIL_DATABASE` in the environment measures PostgreSQL.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::report::{Figure, Target};
use super::{Bench, Samples};
use crate::agent::{Agent, text};

/// Bytes of a message.
const BODY: usize = 500;
/// Mailboxes and senders of the rush.
const MAILBOXES: usize = 200;
const SENDERS: usize = 50;
/// Calls in flight on one connection, as the daemon allows them.
const IN_FLIGHT: usize = 64;
/// Waiters that have nothing to do.
const WAITERS: usize = 1_000;
/// Deaths of the daemon.
const DEATHS: usize = 1_000;

/// All figures of the mail.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    for name in ["sender", "waiter", "sink"] {
        register(bench, name)?;
    }
    let mut figures = sends(bench)?;
    figures.extend(wakes(bench)?);
    figures.extend(doorbell(bench)?);
    figures.extend(rush(bench)?);
    figures.extend(idle(bench)?);
    figures.extend(deaths(bench)?);
    Ok(figures)
}

fn register(bench: &Bench, name: &str) -> Result<()> {
    let done = bench.hob(&["quickstart", "--name", name, "--role", "bench"]).stdout(Stdio::null()).status()?;
    if !done.success() {
        bail!("could not register {name}");
    }
    Ok(())
}

fn agent(bench: &Bench, name: &str) -> Result<Agent> {
    let mut agent = Agent::start(bench.hob(&["mcp", "mail", "--as", name]).stderr(Stdio::null()))?;
    agent.initialize()?;
    Ok(agent)
}

fn done(result: &Value) -> Result<&Value> {
    if result["isError"] == true {
        bail!("{}", text(result));
    }
    Ok(&result["structuredContent"])
}

/// A file on the disk that the mail is on.
struct Floor(File);

impl Floor {
    fn new(bench: &Bench) -> Result<Floor> {
        Ok(Floor(File::create(bench.dir().join("floor")).context("could not make the floor's file")?))
    }

    /// Appends and syncs.
    fn append(&mut self, bytes: &[u8]) -> Result<Duration> {
        let begun = Instant::now();
        self.0.write_all(bytes)?;
        self.0.sync_data()?;
        Ok(begun.elapsed())
    }
}

fn micros(what: &str, samples: &Samples, percent: usize, floor: &Samples, most: f64) -> Figure {
    Figure {
        what: format!("{what}, p{percent}"),
        unit: "µs",
        value: samples.percentile(percent),
        floor: Some(("append + sync", floor.percentile(percent))),
        target: Some(Target::AtMost(most)),
    }
}

/// A send to its answer.
fn sends(bench: &Bench) -> Result<Vec<Figure>> {
    let (mut floor, mut sender) = (Floor::new(bench)?, agent(bench, "sender")?);
    let body = "x".repeat(BODY);
    let (mut sent, mut synced) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(1_000) {
        synced.push(floor.append(body.as_bytes())?);
        let begun = Instant::now();
        done(&sender.call("send_message", json!({ "to": "agent:sink", "content": body }))?)?;
        sent.push(begun.elapsed());
    }
    sender.finish()?;
    let most = 1.5 * synced.percentile(50) + 300.0;
    let mut figures = vec![micros("send of 500 bytes", &sent, 50, &synced, most)];
    for percent in [90, 99] {
        figures.push(Figure { target: None, ..micros("send of 500 bytes", &sent, percent, &synced, 0.0) });
    }
    Ok(figures)
}

/// From the beginning of a send to the answer of who waits for it.
fn wakes(bench: &Bench) -> Result<Vec<Figure>> {
    let (mut floor, mut sender, mut waiter) = (Floor::new(bench)?, agent(bench, "sender")?, agent(bench, "waiter")?);
    let body = "x".repeat(BODY);
    let count = bench.times(500);
    let (woken, wakes) = channel();
    let thread = thread::spawn(move || -> Result<()> {
        for _ in 0..count {
            let result = waiter.call("wait_for_message", json!({ "timeout": 60 }))?;
            let at = Instant::now();
            if done(&result)?["status"] != "message_received" {
                bail!("a waiter was not woken");
            }
            woken.send(at)?;
        }
        waiter.finish()
    });
    let (mut samples, mut synced) = (Samples::default(), Samples::default());
    for _ in 0..count {
        synced.push(floor.append(body.as_bytes())?);
        // The waiter has to be blocked again.
        thread::sleep(Duration::from_millis(10));
        let begun = Instant::now();
        done(&sender.call("send_message", json!({ "to": "agent:waiter", "content": body }))?)?;
        samples.push(wakes.recv_timeout(Duration::from_secs(60))?.saturating_duration_since(begun));
    }
    thread.join().expect("the waiter does not panic")?;
    sender.finish()?;
    let target = |percent: usize, above: f64| synced.percentile(percent) + above;
    Ok(vec![
        micros("send to wake of a blocked waiter", &samples, 50, &synced, target(50, 1_000.0)),
        micros("send to wake of a blocked waiter", &samples, 99, &synced, target(99, 10_000.0)),
    ])
}

/// The whole of `hob wait`, where a message waits already.
fn doorbell(bench: &Bench) -> Result<Vec<Figure>> {
    let timed = |command: &mut Command| -> Result<Duration> {
        let begun = Instant::now();
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        if !status.success() {
            bail!("it ended with {status}");
        }
        Ok(begun.elapsed())
    };
    let (mut waits, mut empty) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(200) {
        empty.push(timed(&mut bench.program("floor-empty"))?);
        waits.push(timed(&mut bench.hob(&["wait", "--as", "sink", "--timeout", "60"]))?);
    }
    Ok(vec![Figure {
        what: "hob wait, start to end, p50".to_owned(),
        unit: "µs",
        value: waits.percentile(50),
        floor: Some(("an empty program", empty.percentile(50))),
        target: Some(Target::Above(5_000.0)),
    }])
}

/// Fifty senders, two hundred mailboxes, some of them drained meanwhile.
fn rush(bench: &Bench) -> Result<Vec<Figure>> {
    let boxes = if bench.is_quick { 20 } else { MAILBOXES };
    (0..boxes).try_for_each(|n| register(bench, &format!("box-{n}")))?;
    let body = "x".repeat(BODY);
    let mut floor = Floor::new(bench)?;
    let group = body.repeat(64);
    let begun = Instant::now();
    let groups = bench.times(200);
    (0..groups).try_for_each(|_| floor.append(group.as_bytes()).map(drop))?;
    let grouped = groups as f64 * 64.0 / begun.elapsed().as_secs_f64();

    let ended = Arc::new(AtomicBool::new(false));
    let drains = (0..4).map(|n| {
        let (mut drain, ended) = (agent(bench, &format!("box-{n}"))?, ended.clone());
        Ok(thread::spawn(move || -> Result<()> {
            while !ended.load(Ordering::Relaxed) {
                done(&drain.call("wait_for_message", json!({ "timeout": 1, "max": 100 }))?)?;
            }
            drain.finish()
        }))
    });
    let drains = drains.collect::<Result<Vec<_>>>()?;
    let each = bench.times(400);
    let senders = (0..SENDERS).map(|_| agent(bench, "sender")).collect::<Result<Vec<_>>>()?;
    let begun = Instant::now();
    let senders = senders.into_iter().enumerate().map(|(number, mut sender)| {
        let body = body.clone();
        thread::spawn(move || -> Result<()> {
            for n in 0..each {
                let to = format!("agent:box-{}", (number * 31 + n * 7) % boxes);
                done(&sender.call("send_message", json!({ "to": to, "content": body }))?)?;
            }
            sender.finish()
        })
    });
    let senders: Vec<_> = senders.collect();
    senders.into_iter().try_for_each(|sender| sender.join().expect("a sender does not panic"))?;
    let rate = (SENDERS * each) as f64 / begun.elapsed().as_secs_f64();
    ended.store(true, Ordering::Relaxed);
    drains.into_iter().try_for_each(|drain| drain.join().expect("a drain does not panic"))?;
    Ok(vec![Figure {
        what: format!("{SENDERS} connections sending to {boxes} mailboxes"),
        unit: "/s",
        value: rate,
        floor: Some(("64 appends to a sync", grouped)),
        target: Some(Target::Share((5_000.0 / grouped).min(0.5))),
    }])
}

/// What waiters cost that nobody writes to.
fn idle(bench: &Bench) -> Result<Vec<Figure>> {
    let status: Value = serde_json::from_slice(&bench.hob(&["status", "--json"]).output()?.stdout)?;
    let pid = status["daemon"]["pid"].as_u64().context("no daemon")?;
    let connections = WAITERS.div_ceil(IN_FLIGHT);
    register(bench, "idler")?;
    let mut waiters = (0..connections).map(|_| agent(bench, "idler")).collect::<Result<Vec<_>>>()?;
    let before = memory(pid)?;
    for (number, waiter) in waiters.iter_mut().enumerate() {
        for _ in 0..IN_FLIGHT.min(WAITERS - number * IN_FLIGHT) {
            waiter.begin("wait_for_message", json!({ "timeout": 600 }))?;
        }
    }
    thread::sleep(Duration::from_secs(2));
    let (grown, cpu) = (memory(pid)? - before, cpu(pid)?);
    thread::sleep(Duration::from_secs(5));
    let used = self::cpu(pid)? - cpu;
    let figure = |what: &str, unit, value, most| Figure {
        what: what.to_owned(),
        unit,
        value,
        floor: None,
        target: Some(Target::AtMost(most)),
    };
    Ok(vec![
        figure("1,000 idle waiters: the daemon grows by", "MiB", grown, 60.0),
        figure("1,000 idle waiters: processor time of 5 s", "ms", used, 20.0),
    ])
}

/// Resident memory in MiB (proc(5), statm).
fn memory(pid: u64) -> Result<f64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm"))?;
    let pages: f64 = statm.split_whitespace().nth(1).context("no resident pages")?.parse()?;
    Ok(pages * 4096.0 / f64::from(1 << 20))
}

/// Processor time in ms (proc(5), stat: fields 14 and 15, in hundredths of a second).
fn cpu(pid: u64) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("no stat")?.1.split_whitespace().collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) * 10.0)
}

/// Kills the daemon at random moments under load, and counts.
fn deaths(bench: &Bench) -> Result<Vec<Figure>> {
    register(bench, "ledger")?;
    let (ended, last) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let senders = (0..4).map(|_| {
        let (mut sender, ended, last) = (agent(bench, "sender")?, ended.clone(), last.clone());
        Ok(thread::spawn(move || -> Result<BTreeSet<u64>> {
            let mut acknowledged = BTreeSet::new();
            while !ended.load(Ordering::Relaxed) {
                let number = last.fetch_add(1, Ordering::Relaxed);
                let result =
                    sender.call("send_message", json!({ "to": "agent:ledger", "content": number.to_string() }));
                // An answer that was lost is an error: the message may be there or not.
                if result.is_ok_and(|result| done(&result).is_ok_and(|said| said["status"] == "delivered")) {
                    acknowledged.insert(number);
                }
            }
            Ok(acknowledged)
        }))
    });
    let senders = senders.collect::<Result<Vec<_>>>()?;
    let reader_ended = ended.clone();
    let mut reader = agent(bench, "ledger")?;
    let reader = thread::spawn(move || -> Result<(BTreeMap<u64, BTreeSet<String>>, u64)> {
        let (mut got, mut again) = (BTreeMap::<u64, BTreeSet<String>>::new(), 0);
        let mut quiet = 0;
        while quiet < 3 {
            let last_round = reader_ended.load(Ordering::Relaxed);
            let Ok(result) = reader.call("wait_for_message", json!({ "timeout": 1, "max": 500 })) else { continue };
            let Ok(said) = done(&result) else { continue };
            let messages = said["messages"].as_array().cloned().unwrap_or_default();
            quiet = if messages.is_empty() && last_round { quiet + 1 } else { 0 };
            for message in messages {
                let number = message["content"].as_str().unwrap_or_default().parse()?;
                let id = message["message_id"].as_str().unwrap_or_default().to_owned();
                again += u64::from(!got.entry(number).or_default().insert(id));
            }
        }
        reader.finish()?;
        Ok((got, again))
    });
    let deaths = if bench.is_quick { 50 } else { DEATHS };
    for n in 0..deaths {
        // Anywhere within what a few sends and a start take, never twice the same.
        thread::sleep(Duration::from_micros(20_000 + (n as u64).wrapping_mul(7_919) % 60_000));
        let pid = std::fs::read_to_string(bench.dir().join(".hob/lock")).unwrap_or_default();
        let pid = pid.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty()).unwrap_or_default().to_owned();
        if !pid.is_empty() {
            let _ = Command::new("kill").args(["-KILL", &pid]).stderr(Stdio::null()).status();
        }
    }
    ended.store(true, Ordering::Relaxed);
    let mut acknowledged = BTreeSet::new();
    for sender in senders {
        acknowledged.extend(sender.join().expect("a sender does not panic")?);
    }
    let (got, again) = reader.join().expect("the reader does not panic")?;
    let lost = acknowledged.iter().filter(|number| !got.contains_key(number)).count();
    let doubled = got.values().filter(|ids| ids.len() > 1).count();
    let count = |what: String, value: f64, target| Figure { what, unit: "", value, floor: None, target };
    Ok(vec![
        count(format!("kill -9 at {deaths} points: messages acknowledged"), acknowledged.len() as f64, None),
        count("… of them lost".to_owned(), lost as f64, Some(Target::AtMost(0.0))),
        count("… sent once and stored twice".to_owned(), doubled as f64, Some(Target::AtMost(0.0))),
        count("… handed to the living reader twice".to_owned(), again as f64, Some(Target::AtMost(0.0))),
        count(
            "messages whose answer was lost and that are there".to_owned(),
            (got.len() - acknowledged.len().min(got.len())) as f64,
            None,
        ),
    ])
}

//! Kills daemons at random moments under load, through real front-ends, and counts the fate of every message.
//!
//! Half of the senders repeat a send whose answer was lost, with its idempotency key, until it is acknowledged; the
//! others do not. Readers receive all messages. Waiters always block in a wait and sometimes get a message; a waiter
//! that does not wake is counted as missed.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;
use testkit::{Postgres, Random};

use super::super::Bench;
use super::super::echo::daemon_pid;
use super::super::paged::Options;
use super::super::report::Figure;
use super::{agent, count_figure, register, structured};
use crate::client::Client;

const SENDERS: usize = 6;
const READERS: usize = 3;
const WAITERS: usize = 3;
/// Kills between two messages to the waiters.
const ROUND: usize = 50;
/// How long a waiter may take to wake, including the start of a daemon.
const WAKE_WITHIN: Duration = Duration::from_secs(20);
/// How long all sends may stay unacknowledged after a kill.
const RECOVER_WITHIN: Duration = Duration::from_secs(60);

/// Kills the one daemon of a project.
pub(super) fn kills(bench: &Bench, options: &Options) -> Result<Vec<Figure>> {
    let what = format!("kill -9 of the daemon at {} points", options.kills);
    run_under_load(&[bench], options.kills, &what, |_| kill(bench))
}

/// Kills one of two daemons, or cuts the connections of both to their database, in turn.
pub(super) fn kills_and_cuts(benches: &[&Bench], database: &Postgres, times: usize) -> Result<Vec<Figure>> {
    let what = format!("PostgreSQL: {times} times kill -9 of one of two daemons, or all connections cut");
    run_under_load(benches, times, &what, |n| match n % 3 {
        0 => kill(benches[0]),
        1 => kill(benches[1]),
        _ => {
            database.cut_connections();
            Ok(())
        }
    })
}

fn kill(bench: &Bench) -> Result<()> {
    // The daemon may have ended already.
    if let Ok(pid) = daemon_pid(bench) {
        Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status()?;
    }
    Ok(())
}

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    last: AtomicU64,
    acknowledged: AtomicU64,
}

/// Record of a reader: message ids by number, and the count of duplicates.
type Received = (BTreeMap<u64, BTreeSet<String>>, usize);

/// Record of a sender: the acknowledged numbers, and the count of sends without an answer.
type Acknowledged = (Vec<u64>, usize);

/// Runs the load, calls `strike` this many times at random moments, and counts.
fn run_under_load(
    benches: &[&Bench],
    times: usize,
    what: &str,
    mut strike: impl FnMut(usize) -> Result<()>,
) -> Result<Vec<Figure>> {
    let place = |n: usize| benches[n % benches.len()];
    (0..READERS).try_for_each(|n| register(place(n), &format!("reader-{n}")))?;
    (0..SENDERS).try_for_each(|n| register(place(n), &format!("writer-{n}")))?;
    (0..WAITERS).try_for_each(|n| register(place(n), &format!("sleeper-{n}")))?;
    register(place(0), "ringer")?;
    let shared = Arc::new(Shared::default());
    let readers = (0..READERS).map(|n| Ok(read(agent(place(n), &format!("reader-{n}"))?, &shared)));
    let readers = readers.collect::<Result<Vec<_>>>()?;
    let senders = (0..SENDERS).map(|n| Ok(send(agent(place(n), &format!("writer-{n}"))?, n % 2 == 0, &shared)));
    let senders = senders.collect::<Result<Vec<_>>>()?;
    let mut probe = WakeProbe::new(agent(place(0), "ringer")?, |n| agent(place(n), &format!("sleeper-{n}")))?;
    let mut random = Random::new(1);
    let begun = Instant::now();
    for n in 0..times {
        // After a random number of acknowledgements, or a random time after the next one.
        let (least, pause) =
            if n % 2 == 0 { (1 + random.below(40), random.below(3_000)) } else { (1, random.below(60_000)) };
        let until = shared.acknowledged.load(Ordering::Relaxed) + least as u64;
        let deadline = Instant::now() + RECOVER_WITHIN;
        while shared.acknowledged.load(Ordering::Relaxed) < until {
            if Instant::now() > deadline {
                bail!("after {n} times nothing was acknowledged for {} s", RECOVER_WITHIN.as_secs());
            }
            thread::sleep(Duration::from_micros(200));
        }
        thread::sleep(Duration::from_micros(pause as u64));
        strike(n)?;
        if (n + 1) % ROUND == 0 {
            probe.wake_all()?;
            println!(
                "  {} times in {} s, {} acknowledged",
                n + 1,
                begun.elapsed().as_secs(),
                shared.acknowledged.load(Ordering::Relaxed)
            );
        }
    }
    probe.wake_all()?;
    shared.ended.store(true, Ordering::Relaxed);
    let (mut acknowledged, mut unknown) = (BTreeSet::new(), 0);
    for sender in senders {
        let (numbers, lost_answers) = sender.join().expect("a sender does not panic")?;
        acknowledged.extend(numbers);
        unknown += lost_answers;
    }
    let (mut got, mut again) = (BTreeMap::<u64, BTreeSet<String>>::new(), 0);
    for reader in readers {
        let (taken, twice) = reader.join().expect("a reader does not panic")?;
        taken.into_iter().for_each(|(number, ids)| got.entry(number).or_default().extend(ids));
        again += twice;
    }
    let lost = acknowledged.iter().filter(|number| !got.contains_key(number)).count();
    let doubled = got.values().filter(|ids| ids.len() > 1).count();
    let unacknowledged = got.keys().filter(|number| !acknowledged.contains(number)).count();
    Ok(vec![
        count_figure(format!("{what}: acknowledged"), acknowledged.len(), None),
        count_figure("… of them lost", lost, Some(0.0)),
        count_figure("… sent once and stored twice", doubled, Some(0.0)),
        count_figure("… handed to its living reader twice", again, Some(0.0)),
        count_figure("… sends without an answer", unknown, None),
        count_figure("… of them stored all the same, once", unacknowledged, None),
        count_figure("… times that a blocked waiter was rung", probe.sent, None),
        count_figure("… of them deaf", probe.deaf, Some(0.0)),
    ])
}

/// Sends until the run ends.
fn send(mut agent: Client, repeats: bool, shared: &Arc<Shared>) -> JoinHandle<Result<Acknowledged>> {
    let shared = shared.clone();
    thread::spawn(move || {
        let (mut acknowledged, mut unknown) = (Vec::new(), 0);
        while !shared.ended.load(Ordering::Relaxed) {
            let number = shared.last.fetch_add(1, Ordering::Relaxed);
            let mut call = json!({
                "to": format!("agent:reader-{}", number % READERS as u64), "content": number.to_string(),
            });
            if repeats {
                call["idempotency_key"] = json!(format!("key-{number}"));
            }
            loop {
                let result = agent.call("send_message", call.clone());
                if result.is_ok_and(|result| structured(&result).is_ok_and(|said| said["status"] == "delivered")) {
                    acknowledged.push(number);
                    shared.acknowledged.fetch_add(1, Ordering::Relaxed);
                    break;
                }
                if !repeats {
                    unknown += 1;
                    break;
                }
            }
        }
        agent.finish()?;
        Ok((acknowledged, unknown))
    })
}

/// Receives until all senders have ended and three waits got nothing.
fn read(mut agent: Client, shared: &Arc<Shared>) -> JoinHandle<Result<Received>> {
    let shared = shared.clone();
    thread::spawn(move || {
        let (mut got, mut again, mut quiet) = (BTreeMap::<u64, BTreeSet<String>>::new(), 0, 0);
        while quiet < 3 {
            let is_over = shared.ended.load(Ordering::Relaxed);
            let Ok(result) = agent.call("wait_for_message", json!({ "timeout": 1, "max": 500 })) else { continue };
            let Ok(said) = structured(&result) else { continue };
            let messages = said["messages"].as_array().cloned().unwrap_or_default();
            quiet = if messages.is_empty() && is_over { quiet + 1 } else { 0 };
            for message in messages {
                let number = message["content"].as_str().unwrap_or_default().parse()?;
                let id = message["message_id"].as_str().unwrap_or_default().to_owned();
                again += usize::from(!got.entry(number).or_default().insert(id));
            }
        }
        agent.finish()?;
        Ok((got, again))
    })
}

/// Runs agents that always block in a wait, and one that writes to them.
struct WakeProbe {
    sender: Client,
    woken: Receiver<(usize, String)>,
    number: usize,
    sent: usize,
    deaf: usize,
}

impl WakeProbe {
    fn new(sender: Client, waiter: impl Fn(usize) -> Result<Client>) -> Result<WakeProbe> {
        let (wake, woken) = channel();
        for n in 0..WAITERS {
            let (mut agent, wake) = (waiter(n)?, wake.clone());
            thread::spawn(move || -> Result<()> {
                loop {
                    let call = agent.begin_call("wait_for_message", json!({ "timeout": 600 }))?;
                    let answer = agent.answer_within(call, Duration::from_secs(700))?.message;
                    let content = &answer["result"]["structuredContent"]["message"]["content"];
                    // Fails when the run is over.
                    wake.send((n, content.as_str().unwrap_or_default().to_owned()))?;
                }
            });
        }
        Ok(WakeProbe { sender, woken, number: 0, sent: 0, deaf: 0 })
    }

    /// Writes to each waiter, and waits until each has woken with that message.
    fn wake_all(&mut self) -> Result<()> {
        self.number += 1;
        let ring = format!("ring {}", self.number);
        let mut waiting: BTreeSet<usize> = (0..WAITERS).collect();
        for n in 0..WAITERS {
            let call = json!({ "to": format!("agent:sleeper-{n}"), "content": ring, "idempotency_key": format!("{ring} {n}") });
            let deadline = Instant::now() + RECOVER_WITHIN;
            while !self.sender.call("send_message", call.clone()).is_ok_and(|result| structured(&result).is_ok()) {
                if Instant::now() > deadline {
                    bail!("a ring could not be sent");
                }
            }
            self.sent += 1;
        }
        let deadline = Instant::now() + WAKE_WITHIN;
        while !waiting.is_empty() {
            match self.woken.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok((n, content)) if content == ring => _ = waiting.remove(&n),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.deaf += waiting.len();
        Ok(())
    }
}

//! Kills daemons at random moments under load, through real front-ends, and counts what became of every message.
//!
//! Some senders repeat a send whose answer was lost, with its idempotency key, until it is acknowledged; the others let
//! it go. Readers take what comes, for good. Sleepers are blocked in a wait all the time, and are rung now and then:
//! one that does not wake is deaf.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::super::Bench;
use super::super::echo::daemon_pid;
use super::super::report::Figure;
use super::database::Database;
use super::{Asked, agent, count, done, register};
use crate::agent::Agent;

/// Senders of either kind, readers, sleepers.
const SENDERS: usize = 6;
const READERS: usize = 3;
const SLEEPERS: usize = 3;
/// Deaths between two times that the sleepers are rung.
const ROUND: usize = 50;
/// How long a sleeper may take to wake, with a daemon that has to start.
const WAKE_WITHIN: Duration = Duration::from_secs(20);
/// How long a death may keep everybody from being acknowledged anything.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// Kills the one daemon of a project.
pub(super) fn kills(bench: &Bench, asked: &Asked) -> Result<Vec<Figure>> {
    let what = format!("kill -9 of the daemon at {} points", asked.kills);
    under(&[bench], asked.kills, &what, |_| kill(bench))
}

/// Kills one of two daemons, or cuts the connections of both to their database, in turn.
pub(super) fn kills_and_cuts(benches: &[&Bench], database: &Database, times: usize) -> Result<Vec<Figure>> {
    let what = format!("PostgreSQL: {times} times kill -9 of one of two daemons, or all connections cut");
    under(benches, times, &what, |n| match n % 3 {
        0 => kill(benches[0]),
        1 => kill(benches[1]),
        _ => database.cut(),
    })
}

fn kill(bench: &Bench) -> Result<()> {
    // One that has just ended is dead too.
    if let Ok(pid) = daemon_pid(bench) {
        Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status()?;
    }
    Ok(())
}

/// What all threads share.
#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    last: AtomicU64,
    acknowledged: AtomicU64,
}

/// What a reader took: by number, the ids under which it came; and how often an id came again.
type Taken = (BTreeMap<u64, BTreeSet<String>>, usize);

/// What a sender was told: the numbers that were acknowledged, and how many answers were lost for good.
type Told = (Vec<u64>, usize);

fn under(
    benches: &[&Bench],
    times: usize,
    what: &str,
    mut strike: impl FnMut(usize) -> Result<()>,
) -> Result<Vec<Figure>> {
    let place = |n: usize| benches[n % benches.len()];
    (0..READERS).try_for_each(|n| register(place(n), &format!("reader-{n}")))?;
    (0..SENDERS).try_for_each(|n| register(place(n), &format!("writer-{n}")))?;
    (0..SLEEPERS).try_for_each(|n| register(place(n), &format!("sleeper-{n}")))?;
    register(place(0), "ringer")?;
    let shared = Arc::new(Shared::default());
    let readers = (0..READERS).map(|n| Ok(read(agent(place(n), &format!("reader-{n}"))?, &shared)));
    let readers = readers.collect::<Result<Vec<_>>>()?;
    let senders = (0..SENDERS).map(|n| Ok(send(agent(place(n), &format!("writer-{n}"))?, n % 2 == 0, &shared)));
    let senders = senders.collect::<Result<Vec<_>>>()?;
    let mut bells = Bells::new(agent(place(0), "ringer")?, |n| agent(place(n), &format!("sleeper-{n}")))?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let begun = Instant::now();
    for n in 0..times {
        // After a random number of acknowledgements, or a random time after the first one.
        let (least, pause) =
            if n % 2 == 0 { (1 + random.below(40), random.below(3_000)) } else { (1, random.below(60_000)) };
        let until = shared.acknowledged.load(Ordering::Relaxed) + least;
        let deadline = Instant::now() + BACK_WITHIN;
        while shared.acknowledged.load(Ordering::Relaxed) < until {
            if Instant::now() > deadline {
                bail!("after {n} times nothing was acknowledged for {} s", BACK_WITHIN.as_secs());
            }
            thread::sleep(Duration::from_micros(200));
        }
        thread::sleep(Duration::from_micros(pause));
        strike(n)?;
        if (n + 1) % ROUND == 0 {
            bells.ring()?;
            println!(
                "  {} times in {} s, {} acknowledged",
                n + 1,
                begun.elapsed().as_secs(),
                shared.acknowledged.load(Ordering::Relaxed)
            );
        }
    }
    bells.ring()?;
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
        count(format!("{what}: acknowledged"), acknowledged.len(), None),
        count("… of them lost", lost, Some(0.0)),
        count("… sent once and stored twice", doubled, Some(0.0)),
        count("… handed to its living reader twice", again, Some(0.0)),
        count("… sends without an answer", unknown, None),
        count("… of them stored all the same, once", unacknowledged, None),
        count("… times that a blocked waiter was rung", bells.rung, None),
        count("… of them deaf", bells.deaf, Some(0.0)),
    ])
}

/// Sends for as long as it lasts.
fn send(mut agent: Agent, repeats: bool, shared: &Arc<Shared>) -> JoinHandle<Result<Told>> {
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
                if result.is_ok_and(|result| done(&result).is_ok_and(|said| said["status"] == "delivered")) {
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

/// Takes what comes until all have sent and nothing more came.
fn read(mut agent: Agent, shared: &Arc<Shared>) -> JoinHandle<Result<Taken>> {
    let shared = shared.clone();
    thread::spawn(move || {
        let (mut got, mut again, mut quiet) = (BTreeMap::<u64, BTreeSet<String>>::new(), 0, 0);
        while quiet < 3 {
            let is_over = shared.ended.load(Ordering::Relaxed);
            let Ok(result) = agent.call("wait_for_message", json!({ "timeout": 1, "max": 500 })) else { continue };
            let Ok(said) = done(&result) else { continue };
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

/// Agents that are blocked all the time, and the one that rings them.
struct Bells {
    ringer: Agent,
    woken: Receiver<(usize, String)>,
    number: usize,
    rung: usize,
    deaf: usize,
}

impl Bells {
    fn new(ringer: Agent, sleeper: impl Fn(usize) -> Result<Agent>) -> Result<Bells> {
        let (wake, woken) = channel();
        for n in 0..SLEEPERS {
            let (mut agent, wake) = (sleeper(n)?, wake.clone());
            thread::spawn(move || -> Result<()> {
                loop {
                    let params = json!({ "name": "wait_for_message", "arguments": { "timeout": 600 } });
                    let result = agent.request("tools/call", params, Duration::from_secs(700))?;
                    let content = done(&result).map(|said| said["message"]["content"].clone()).unwrap_or(Value::Null);
                    // Nobody listens any more: the run is over.
                    wake.send((n, content.as_str().unwrap_or_default().to_owned()))?;
                }
            });
        }
        Ok(Bells { ringer, woken, number: 0, rung: 0, deaf: 0 })
    }

    /// Writes to each, and waits until each has woken with just that.
    fn ring(&mut self) -> Result<()> {
        self.number += 1;
        let ring = format!("ring {}", self.number);
        let mut waiting: BTreeSet<usize> = (0..SLEEPERS).collect();
        for n in 0..SLEEPERS {
            let call = json!({ "to": format!("agent:sleeper-{n}"), "content": ring, "idempotency_key": format!("{ring} {n}") });
            let deadline = Instant::now() + BACK_WITHIN;
            while !self.ringer.call("send_message", call.clone()).is_ok_and(|result| done(&result).is_ok()) {
                if Instant::now() > deadline {
                    bail!("a ring could not be sent");
                }
            }
            self.rung += 1;
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

/// Numbers that are the same in each run (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

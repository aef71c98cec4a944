//! Kills daemons at random moments while agents ask, wait and receive answers, and a person claims and answers; then
//! the same with agents. Counts the fate of every question and every answer.
//!
//! Each question's title names its agent and a number, and the note of its answer repeats the title, so that an answer
//! identifies its question. A person's request without a reply may have been stored or not; an acknowledged one must
//! arrive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use testkit::Random;

use super::super::Bench;
use super::super::echo::daemon_pid;
use super::super::paged::Options;
use super::super::report::Figure;
use super::count;
use crate::client::Client;

const AGENTS: usize = 4;
/// Timeout for an answer to reach its agent, including all kills.
const ARRIVES_WITHIN: Duration = Duration::from_secs(60);
/// Maximum time for which no agent may receive anything after a kill.
const RECOVERS_WITHIN: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    /// Number of answers that arrived.
    arrived: AtomicUsize,
    agents: [Mutex<Vec<u32>>; AGENTS],
    /// Answers acknowledged as stored, by title.
    acknowledged: Mutex<BTreeMap<String, bool>>,
}

/// Record of one agent.
#[derive(Default)]
struct AgentRecord {
    /// Titles of its questions.
    asked: usize,
    lost: Vec<String>,
    /// Answers by title.
    answers: BTreeMap<String, bool>,
    of_strangers: usize,
    again_marked: usize,
    again_unmarked: usize,
    changed: usize,
    restarts: usize,
}

pub(super) fn measure(bench: &Bench, options: &Options) -> Result<Vec<Figure>> {
    for number in 0..AGENTS {
        let made = bench.hob(&["quickstart", "--name", &name(number), "--role", "bench"]).output()?;
        if !made.status.success() {
            bail!("could not register: {}", String::from_utf8_lossy(&made.stderr));
        }
    }
    let mut figures = Vec::new();
    let kills = options.kills;
    figures.extend(under_kills(bench, kills, &format!("kill -9 of the daemon at {kills} points"), |_, _| {
        // It may have ended already.
        daemon_pid(bench).map_or_else(|_| Vec::new(), |pid| vec![pid])
    })?);
    let kills = kills / 2;
    figures.extend(under_kills(bench, kills, &format!("kill -9 of an agent at {kills} points"), |shared, turn| {
        locked(&shared.agents[turn % AGENTS]).clone()
    })?);
    Ok(figures)
}

fn name(number: usize) -> String {
    format!("asker-{number}")
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the load, kills the processes named by `victims` the given number of times, and counts.
fn under_kills(
    bench: &Bench,
    kills: usize,
    what: &str,
    victims: impl Fn(&Shared, usize) -> Vec<u32>,
) -> Result<Vec<Figure>> {
    let shared = Arc::new(Shared::default());
    let round: String = what.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let (agents, struck) = thread::scope(|scope| -> Result<_> {
        let shared = &*shared;
        let agents: Vec<_> = (0..AGENTS)
            .map(|number| {
                let round = &round;
                scope.spawn(move || {
                    let done = live(bench, number, round, shared);
                    // A failed thread must not block the others.
                    if done.is_err() {
                        shared.ended.store(true, Ordering::Relaxed);
                    }
                    done
                })
            })
            .collect();
        let people: Vec<_> = (0..2).map(|_| scope.spawn(move || answer_all(bench, shared))).collect();
        let struck = strike(kills, shared, victims);
        shared.ended.store(true, Ordering::Relaxed);
        let mut seen = Vec::new();
        for agent in agents {
            seen.push(agent.join().expect("an agent does not panic")?);
        }
        // Agents have all their answers; the people end last.
        shared.arrived.store(usize::MAX, Ordering::Relaxed);
        people.into_iter().for_each(|person| person.join().expect("a person does not panic"));
        Ok((seen, struck?))
    })?;
    let acknowledged = locked(&shared.acknowledged).clone();
    let answers: BTreeMap<&String, bool> =
        agents.iter().flat_map(|seen| seen.answers.iter().map(|(title, yes)| (title, *yes))).collect();
    let lost_answers = acknowledged.iter().filter(|(title, yes)| answers.get(title) != Some(yes)).count();
    let sum = |of: fn(&AgentRecord) -> usize| agents.iter().map(of).sum::<usize>();
    for title in agents.iter().flat_map(|seen| &seen.lost) {
        println!("  lost: {title}");
    }
    Ok(vec![
        count(format!("{what}, killed"), struck, None),
        count("… questions asked", sum(|seen| seen.asked), None),
        count("… of them lost", sum(|seen| seen.lost.len()), Some(0)),
        count("… answers that the person was told are stored", acknowledged.len(), None),
        count("… of them lost or another", lost_answers, Some(0)),
        count("… handed to a stranger", sum(|seen| seen.of_strangers), Some(0)),
        count("… seen again and marked `redelivered`", sum(|seen| seen.again_marked), None),
        count("… seen again without the mark", sum(|seen| seen.again_unmarked), Some(0)),
        count("… seen again with another answer", sum(|seen| seen.changed), Some(0)),
        count("… times that an agent was started again", sum(|seen| seen.restarts), None),
    ])
}

/// Kills at random moments: after a random number of answers, or a random time after the next one.
fn strike(kills: usize, shared: &Shared, victims: impl Fn(&Shared, usize) -> Vec<u32>) -> Result<usize> {
    let (mut random, mut struck) = (Random::new(1), 0);
    for turn in 0..kills {
        let until = shared.arrived.load(Ordering::Relaxed) + 1 + random.below(4);
        let deadline = Instant::now() + RECOVERS_WITHIN;
        while shared.arrived.load(Ordering::Relaxed) < until {
            if shared.ended.load(Ordering::Relaxed) {
                return Ok(struck);
            }
            if Instant::now() > deadline {
                bail!("after {turn} kills no answer arrived for {} s", RECOVERS_WITHIN.as_secs());
            }
            thread::sleep(Duration::from_micros(200));
        }
        thread::sleep(Duration::from_micros(random.below(40_000) as u64));
        let pids = victims(shared, turn);
        struck += usize::from(!pids.is_empty());
        for pid in pids {
            let kill = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).output();
            kill.context("could not kill")?;
        }
        if (turn + 1) % 50 == 0 {
            println!("  {} kills, {} answers arrived", turn + 1, shared.arrived.load(Ordering::Relaxed));
        }
    }
    Ok(struck)
}

/// Runs an agent that asks one question after another, and restarts when it is killed.
fn live(bench: &Bench, number: usize, round: &str, shared: &Shared) -> Result<AgentRecord> {
    let mut seen = AgentRecord::default();
    let mut line: Option<Client> = None;
    let mut turn = 0;
    while !shared.ended.load(Ordering::Relaxed) {
        let title = format!("{} {round} {turn}?", name(number));
        turn += 1;
        seen.asked += 1;
        let deadline = Instant::now() + ARRIVES_WITHIN;
        let mut was_asked = false;
        while !seen.answers.contains_key(&title) {
            if Instant::now() > deadline {
                seen.lost.push(title.clone());
                break;
            }
            let open = match &mut line {
                Some(open) => open,
                none => {
                    let Ok(begun) = super::agent(bench, &["ask", "--as", &name(number)], false) else { continue };
                    seen.restarts += usize::from(turn > 1 || was_asked);
                    *locked(&shared.agents[number]) = begun.processes();
                    none.insert(begun)
                }
            };
            // Half of the questions are waited for. The other answers arrive with the results of other calls.
            let wait = if turn % 2 == 0 { 30 } else { 0 };
            let called = if was_asked && wait == 0 {
                open.begin_call("ask_list", json!({}))
            } else {
                open.begin_call("confirm_action", json!({ "action": title, "wait_s": wait }))
            };
            match called.and_then(|id| open.answer(id)) {
                Ok(came) if came.message.get("result").is_some() => {
                    was_asked = true;
                    take(&came.message["result"], number, &mut seen);
                }
                // Its daemon was killed and the call could not be retried: the agent repeats it.
                Ok(_) => {}
                // Its successor asks new questions.
                Err(_) => (line, was_asked) = (None, false),
            }
            if was_asked && wait == 0 && !seen.answers.contains_key(&title) {
                thread::sleep(Duration::from_millis(2));
            }
        }
        shared.arrived.fetch_add(1, Ordering::Relaxed);
    }
    Ok(seen)
}

/// Reads the answers in a result: its own, and those in additional blocks.
fn take(result: &Value, number: usize, seen: &mut AgentRecord) {
    let mut got = Vec::new();
    let own = &result["structuredContent"];
    if own["status"] == "answered" {
        let title = own["note"].as_str().unwrap_or_default().to_owned();
        got.push((title, own["confirmed"] == true, own["redelivered"] == true));
    }
    for block in result["content"].as_array().into_iter().flatten() {
        let text = block["text"].as_str().unwrap_or_default();
        if !text.contains("Late answer: ") {
            continue;
        }
        let after = |key: &str| text.split_once(key).and_then(|(_, rest)| rest.lines().next()).unwrap_or_default();
        let title = after("| note: ").trim_matches('"').to_owned();
        got.push((title, after("| confirmed: ") == "true", text.contains("; redelivered: ")));
    }
    for (title, yes, is_marked) in got {
        seen.of_strangers += usize::from(!title.starts_with(&format!("{} ", name(number))));
        match seen.answers.insert(title, yes) {
            None => {}
            Some(before) => {
                seen.changed += usize::from(before != yes);
                if is_marked {
                    seen.again_marked += 1;
                } else {
                    seen.again_unmarked += 1;
                }
            }
        }
    }
}

/// Runs a person who claims and answers open questions until the agents have ended.
fn answer_all(bench: &Bench, shared: &Shared) {
    let mut line: Option<Client> = None;
    let mut told = BTreeSet::new();
    while shared.arrived.load(Ordering::Relaxed) != usize::MAX {
        let open = match &mut line {
            Some(open) => open,
            // Between two daemons no connection is possible.
            none => {
                match super::person(bench).and_then(|mut line| line.request("ask/watch", json!({})).map(|_| line)) {
                    Ok(begun) => none.insert(begun),
                    Err(_) => {
                        thread::sleep(Duration::from_millis(20));
                        continue;
                    }
                }
            }
        };
        let Ok(list) = open.request("ask/list", json!({})) else {
            line = None;
            continue;
        };
        for question in list["questions"].as_array().into_iter().flatten() {
            let (id, title) = (&question["question"], question["title"].as_str().unwrap_or_default());
            if told.contains(title) {
                continue;
            }
            let yes = title.len() % 2 == 0 || title.ends_with("7?");
            let claimed = open.begin("ask/claim", json!({ "question": id, "via": "terminal" }));
            let answer = json!({ "question": id, "yes": yes, "note": title, "via": "terminal" });
            let answered = claimed.and_then(|_| open.begin("ask/answer", answer)).and_then(|id| open.answer(id));
            let Ok(answered) = answered else {
                line = None;
                break;
            };
            // Another person may have been first.
            if answered.message.get("result").is_some() {
                told.insert(title.to_owned());
                locked(&shared.acknowledged).insert(title.to_owned(), yes);
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}

//! Kills the daemon, and agents, at random moments while questions are asked, claimed, answered and handed over, and
//! counts what became of every question and answer.
//!
//! Agents ask, some without waiting, so that answers come late. A killed agent starts again under its name. Each answer
//! has its question's title in it, and each title its agent's name, so that what is lost, doubled or in strange hands
//! is seen.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::super::Bench;
use super::super::echo::{daemon_pid, status};
use super::super::report::Figure;
use super::line::Line;
use super::{figure, open};

const AGENTS: usize = 4;
const PEOPLE: usize = 2;
/// How long nothing may be answered after a kill.
const RECOVER_WITHIN: Duration = Duration::from_secs(60);
/// How long the last answers may take to arrive.
const DRAIN_WITHIN: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Shared {
    /// No more is asked.
    is_asked_out: AtomicBool,
    /// Everything has arrived, or never will.
    ended: AtomicBool,
    answered: AtomicU64,
    /// The process groups of the agents.
    groups: Mutex<BTreeMap<usize, u32>>,
    asked: Mutex<Vec<(String, String)>>,
    starts: AtomicUsize,
}

/// An answer that an agent saw: its text, and whether it was marked as one that may have been seen before.
type Sight = (String, bool);

pub(super) fn measure(bench: &Bench, kills: usize) -> Result<Vec<Figure>> {
    let shared = Arc::new(Shared::default());
    let place = Arc::new(Bench { programs: bench.programs.clone(), project: tempfile::tempdir()?, is_quick: true });
    std::fs::write(place.dir().join("hob.toml"), "")?;
    let measured = under_load(&place, &shared, kills);
    shared.ended.store(true, Ordering::Relaxed);
    place.stop()?;
    measured
}

fn under_load(bench: &Arc<Bench>, shared: &Arc<Shared>, kills: usize) -> Result<Vec<Figure>> {
    // This starts the daemon.
    drop(Line::agent(bench, "ask", json!({}))?);
    let people: Vec<_> = (0..PEOPLE).map(|number| answering(bench, shared, number)).collect();
    let agents: Vec<_> = (0..AGENTS).map(|number| asking(bench, shared, number)).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut agents_killed = 0;
    for strike in 0..kills + kills / 2 {
        let (least, pause) =
            if strike % 2 == 0 { (1 + random.below(10), random.below(3_000)) } else { (1, random.below(40_000)) };
        let until = shared.answered.load(Ordering::Relaxed) + least;
        let deadline = Instant::now() + RECOVER_WITHIN;
        while shared.answered.load(Ordering::Relaxed) < until {
            if Instant::now() > deadline {
                bail!("after {strike} kills nothing was answered for {} s", RECOVER_WITHIN.as_secs());
            }
            thread::sleep(Duration::from_micros(200));
        }
        thread::sleep(Duration::from_micros(pause));
        if strike % 3 == 2 {
            let group = held(&shared.groups).get(&(random.below(AGENTS as u64) as usize)).copied();
            if let Some(group) = group {
                kill(&format!("-{group}"))?;
                agents_killed += 1;
            }
        } else if let Ok(pid) = daemon_pid(bench) {
            kill(&pid.to_string())?;
        }
    }
    shared.is_asked_out.store(true, Ordering::Relaxed);
    let deadline = Instant::now() + DRAIN_WITHIN;
    let mut left = (0, 0);
    while Instant::now() < deadline {
        thread::sleep(Duration::from_millis(300));
        let status = status(bench)?;
        let count = |what: &str| status["ask"][what].as_u64();
        if let Some(now) = count("open").zip(count("undelivered")) {
            left = now;
            if left == (0, 0) {
                break;
            }
        }
    }
    // What was handed out last is seen before the agents end.
    thread::sleep(Duration::from_secs(1));
    shared.ended.store(true, Ordering::Relaxed);
    let mut stored = BTreeMap::<String, Vec<String>>::new();
    for person in people {
        for (title, text) in person.join().expect("a person does not panic")? {
            stored.entry(title).or_default().push(text);
        }
    }
    let mut seen = BTreeMap::<String, Vec<Sight>>::new();
    let mut strange = 0;
    for (number, agent) in agents.into_iter().enumerate() {
        for (text, is_marked) in agent.join().expect("an agent does not panic")? {
            let title = text.split_once(": ").map_or("", |(title, _)| title).to_owned();
            strange += usize::from(!title.starts_with(&format!("agent {number},")));
            seen.entry(title).or_default().push((text, is_marked));
        }
    }
    let mut control = Line::control(bench)?;
    let asked = std::mem::take(&mut *held(&shared.asked));
    let is_there = |control: &mut Line, id: &str| control.request("ask/list", json!({ "question": id })).is_ok();
    let lost = asked.iter().filter(|(id, _)| !is_there(&mut control, id)).count();
    let unseen: Vec<&String> = stored
        .iter()
        .filter(|(title, texts)| !seen.get(*title).is_some_and(|seen| seen.iter().any(|(text, _)| texts[0] == *text)))
        .map(|(title, _)| title)
        .collect();
    let two = stored.values().filter(|texts| texts.len() > 1).count();
    let differing = seen.values().filter(|seen| seen.iter().any(|(text, _)| *text != seen[0].0)).count();
    let unmarked = seen.values().filter(|seen| seen.iter().filter(|(_, is_marked)| !is_marked).count() > 1).count();
    let again = seen.values().filter(|seen| seen.len() > 1).count();
    let marked = seen.values().flatten().filter(|(_, is_marked)| *is_marked).count();
    if !unseen.is_empty() {
        println!("  unseen: {:?}; left {left:?}", &unseen[..unseen.len().min(5)]);
    }
    let count = |what: String, value: usize, most: Option<f64>| figure(what, "", value as f64, most);
    Ok(vec![
        count(
            format!("kill -9 of the daemon at {kills} points, of agents at {agents_killed}: asked"),
            asked.len(),
            None,
        ),
        count("… questions lost".to_owned(), lost, Some(0.0)),
        count("… answers said to be stored".to_owned(), stored.len(), None),
        count("… of them never seen by their agent".to_owned(), unseen.len(), Some(0.0)),
        count("… two answers stored to one question".to_owned(), two + differing, Some(0.0)),
        count("… answers seen by another agent".to_owned(), strange, Some(0.0)),
        count("… seen twice without a mark".to_owned(), unmarked, Some(0.0)),
        count("… seen again, marked `redelivered`".to_owned(), again, None),
        count("… marked in all".to_owned(), marked, None),
        count("… open or not handed out at the end".to_owned(), (left.0 + left.1) as usize, Some(0.0)),
        count("… agents started".to_owned(), shared.starts.load(Ordering::Relaxed), None),
    ])
}

fn kill(process: &str) -> Result<()> {
    // It may have ended already.
    Command::new("kill").args(["-KILL", "--", process]).stderr(Stdio::null()).status()?;
    Ok(())
}

/// An agent that asks until the end, and starts again when it is killed.
fn asking(bench: &Arc<Bench>, shared: &Arc<Shared>, number: usize) -> JoinHandle<Result<Vec<Sight>>> {
    let (bench, shared) = (bench.clone(), shared.clone());
    thread::spawn(move || {
        let (mut seen, mut last) = (Vec::new(), 0_u64);
        while !shared.ended.load(Ordering::Relaxed) {
            let Ok(mut agent) = Line::agent(&bench, &format!("ask --as asker-{number}"), json!({})) else { continue };
            shared.starts.fetch_add(1, Ordering::Relaxed);
            if let Some(group) = agent.group() {
                held(&shared.groups).insert(number, group);
            }
            while !shared.ended.load(Ordering::Relaxed) {
                // Fails when the agent is killed.
                if turn(&mut agent, &shared, number, &mut last, &mut seen).is_err() {
                    break;
                }
            }
        }
        Ok(seen)
    })
}

/// One call of an agent.
fn turn(agent: &mut Line, shared: &Shared, number: usize, last: &mut u64, seen: &mut Vec<Sight>) -> Result<()> {
    let request = if shared.is_asked_out.load(Ordering::Relaxed) || *last % 4 == 3 {
        *last += 1;
        thread::sleep(Duration::from_millis(20));
        agent.begin_call("ask_list", json!({ "state": "open" }))?
    } else {
        *last += 1;
        let title = format!("agent {number}, question {last}");
        let wait = if last.is_multiple_of(2) { 20 } else { 0 };
        agent.begin_call("request_guidance", json!({ "context": title, "wait_s": wait }))?
    };
    let (_, answer) = agent.answer(request)?;
    let result = &answer["result"];
    if let Some(id) = result["structuredContent"]["question"].as_str() {
        held(&shared.asked).push((id.to_owned(), number.to_string()));
    }
    for text in result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()) {
        // One answer to a block, as JSON after its name.
        let Some((_, after)) = text.split_once("guidance: \"") else { continue };
        let said = after.lines().next().unwrap_or_default();
        let said: String = serde_json::from_str(&format!("\"{said}"))?;
        seen.push((said, text.contains("redelivered")));
    }
    Ok(())
}

/// Somebody who claims and answers questions until the end; gives the answers that were said to be stored, by title.
fn answering(bench: &Arc<Bench>, shared: &Arc<Shared>, number: usize) -> JoinHandle<Result<Vec<(String, String)>>> {
    let (bench, shared) = (bench.clone(), shared.clone());
    thread::spawn(move || {
        let mut stored = Vec::new();
        while !shared.ended.load(Ordering::Relaxed) {
            // Ends when the daemon is killed; whoever asks starts the next one.
            if let Err(error) = answer(&bench, &shared, number, &mut stored)
                && error.to_string().contains("must not answer")
            {
                return Err(error);
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(stored)
    })
}

fn answer(bench: &Bench, shared: &Shared, number: usize, stored: &mut Vec<(String, String)>) -> Result<()> {
    let mut line = Line::control(bench)?;
    line.request("ask/watch", json!({}))?;
    while !shared.ended.load(Ordering::Relaxed) {
        let open = open(&mut line)?;
        for (at, question) in open.iter().enumerate() {
            let (id, title) = (&question["question"], question["title"].as_str().unwrap_or_default());
            if at % 3 == 0 {
                let claim = line.begin("ask/claim", json!({ "question": id, "via": "terminal" }))?;
                line.answer(claim)?;
            }
            let text = format!("{title}: by person {number}");
            let request = line.begin("ask/answer", json!({ "question": id, "text": text }))?;
            let (_, answer) = line.answer(request)?;
            match answer["error"]["data"]["reason"].as_str() {
                None if answer["error"].is_null() => {
                    stored.push((title.to_owned(), text));
                    shared.answered.fetch_add(1, Ordering::Relaxed);
                }
                // The other person was first.
                Some("closed") => {}
                _ => bail!("{}", Value::from(answer["error"].to_string())),
            }
        }
        line.forget();
        thread::sleep(Duration::from_millis(3));
    }
    Ok(())
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with it")
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

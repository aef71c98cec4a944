//! Daemons and agents are killed forty times while agents ask, wait and receive answers, and people claim and answer: no
//! question and no stored answer is lost, none reaches another agent, and repeated deliveries are marked.
//!
//! Each title contains its agent and a number, and the note of its answer repeats the title: so each delivery shows which
//! agent it belongs to.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::{McpPeer, Random, TestProject, kill_hard, until};

use super::races::Person;
use super::{agent_as, front_end_of};
use crate::fresh;

const KILLS: usize = 40;
const AGENTS: usize = 3;

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    arrived: AtomicUsize,
    /// The process of each agent, so that it can be killed.
    agents: [Mutex<Option<i32>>; AGENTS],
    /// Answers that people were told are stored.
    acknowledged: Mutex<BTreeMap<String, bool>>,
}

/// The answers that an agent received, by title, and the number of repeated deliveries.
#[derive(Debug, Default)]
struct Deliveries {
    answers: BTreeMap<String, bool>,
    again_marked: usize,
    again_unmarked: Vec<String>,
}

#[test]
fn forty_deaths_lose_no_question_and_no_answer_long_run() {
    let project = fresh();
    for number in 0..AGENTS {
        project.run(["quickstart", "--name", &format!("asker-{number}"), "--role", "test"]).ok();
    }
    let shared = Shared::default();
    let seen: Vec<Deliveries> = std::thread::scope(|scope| {
        let (project, shared) = (&project, &shared);
        let agents: Vec<_> = (0..AGENTS).map(|number| scope.spawn(move || live(project, number, shared))).collect();
        let people: Vec<_> = (0..2).map(|_| scope.spawn(move || answer_all(project, shared))).collect();
        let mut random = Random::new(7);
        for kill in 0..KILLS {
            let there = shared.arrived.load(Ordering::Relaxed) + 1 + random.below(3);
            until("answers to arrive", || (shared.arrived.load(Ordering::Relaxed) >= there).then_some(()));
            // Agents first: a daemon waits ten seconds for the runs of its predecessor, and so would its successors.
            let pid = if kill < KILLS / 4 {
                shared.agents[kill % AGENTS].lock().unwrap().take()
            } else {
                project.daemon_pid()
            };
            pid.into_iter().for_each(kill_hard);
        }
        shared.ended.store(true, Ordering::Relaxed);
        let seen = agents.into_iter().map(|agent| agent.join().unwrap()).collect();
        shared.arrived.store(usize::MAX, Ordering::Relaxed);
        people.into_iter().for_each(|person| person.join().unwrap());
        seen
    });
    let acknowledged = shared.acknowledged.into_inner().unwrap();
    let (marked, unmarked) = seen
        .iter()
        .fold((0, 0), |(marked, unmarked), seen| (marked + seen.again_marked, unmarked + seen.again_unmarked.len()));
    eprintln!("{KILLS} deaths: {} answers acknowledged, {marked} redelivered", acknowledged.len());
    for (number, seen) in seen.iter().enumerate() {
        let own = format!("asker-{number} ");
        assert!(seen.answers.keys().all(|title| title.starts_with(&own)), "to a stranger: {seen:?}");
    }
    for (title, yes) in &acknowledged {
        let got = seen.iter().find_map(|seen| seen.answers.get(title));
        assert_eq!(got, Some(yes), "lost, or another: {title}");
    }
    assert_eq!(unmarked, 0, "seen again without a mark: {seen:#?}");
    assert!(acknowledged.len() > KILLS, "hardly a load: {}", acknowledged.len());
}

/// Runs an agent that asks one question after another, and restarts when it is killed.
fn live(project: &TestProject, number: usize, shared: &Shared) -> Deliveries {
    let (mut seen, mut peer, mut turn) = (Deliveries::default(), None::<McpPeer>, 0);
    while !shared.ended.load(Ordering::Relaxed) {
        let title = format!("asker-{number} {turn}?");
        // Half of the questions are waited for; answers to the others arrive with other calls.
        let (waits, mut asked) = (turn % 2 == 0, false);
        turn += 1;
        until("the answer to arrive", || {
            let open = peer.get_or_insert_with(|| {
                let begun = agent_as(project, &["ask", "--as", &format!("asker-{number}")]);
                *shared.agents[number].lock().unwrap() = Some(front_end_of(&begun));
                begun
            });
            let call = if asked && !waits {
                open.start_call("ask_list", json!({}))
            } else {
                open.start_call("confirm_action", json!({"action": title, "wait_s": if waits { 30 } else { 0 }}))
            };
            match open.response_or_end(call) {
                Some(message) if message["result"].is_object() => {
                    asked = true;
                    seen.take(&message["result"]);
                }
                // The daemon was killed, and the call could not be repeated.
                Some(_) => {}
                // Its successor asks its own questions.
                None => (peer, asked) = (None, false),
            }
            seen.answers.contains_key(&title).then_some(())
        });
        shared.arrived.fetch_add(1, Ordering::Relaxed);
    }
    seen
}

impl Deliveries {
    /// Collects the answers in a result: its own, and those in additional blocks.
    fn take(&mut self, result: &Value) {
        let mut got = Vec::new();
        let own = &result["structuredContent"];
        if own["status"] == "answered" {
            let title = own["note"].as_str().unwrap().to_owned();
            got.push((title, own["confirmed"] == true, own["redelivered"] == true));
        }
        for block in result["content"].as_array().into_iter().flatten() {
            let text = block["text"].as_str().unwrap_or_default();
            let after = |key: &str| text.split_once(key).and_then(|(_, rest)| rest.lines().next()).unwrap_or_default();
            if text.contains("Late answer: ") {
                let title = after("| note: ").trim_matches('"').to_owned();
                got.push((title, after("| confirmed: ") == "true", text.contains("; redelivered: ")));
            }
        }
        for (title, yes, is_marked) in got {
            match self.answers.insert(title.clone(), yes) {
                None => {}
                Some(before) => {
                    assert_eq!(before, yes, "{title}");
                    if is_marked { self.again_marked += 1 } else { self.again_unmarked.push(result.to_string()) }
                }
            }
        }
    }
}

/// A person who claims and answers open questions until the agents have ended.
fn answer_all(project: &TestProject, shared: &Shared) {
    let has_ended = || shared.arrived.load(Ordering::Relaxed) == usize::MAX;
    while !has_ended() {
        // Between two daemons, connecting fails.
        let person = until("the next daemon, or the end", || {
            let begun = Person::connect(project).and_then(|mut person| {
                person.request("ask/watch", json!({}))?;
                Some(person)
            });
            begun.map(Some).or_else(|| has_ended().then_some(None))
        });
        let Some(mut person) = person else { return };
        while answer_open(&mut person, shared).is_some() && !has_ended() {}
    }
}

/// Answers open questions, and waits briefly for more; `None` if the daemon is gone.
fn answer_open(person: &mut Person, shared: &Shared) -> Option<()> {
    let list = person.request("ask/list", json!({}))?;
    for question in list["result"]["questions"].as_array().into_iter().flatten() {
        let title = question["title"].as_str().unwrap();
        let yes = !title.ends_with("3?");
        person.request("ask/claim", json!({"question": question["question"], "via": "terminal"}))?;
        let answer = json!({"question": question["question"], "yes": yes, "note": title, "via": "terminal"});
        // Another person may have answered first.
        if person.request("ask/answer", answer)?["result"].is_object() {
            shared.acknowledged.lock().unwrap().insert(title.to_owned(), yes);
        }
    }
    person.read_notice()
}

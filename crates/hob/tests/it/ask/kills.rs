//! Daemons and agents are killed forty times while agents ask, wait and receive answers, and people answer: no question and no
//! stored answer is lost, none reaches another agent, and repeated deliveries are marked.
//!
//! Each title contains its agent and a number, and the note of its answer repeats the title: so each delivery shows which
//! agent it belongs to.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::{McpPeer, Random, TestProject, kill_hard, until};

use super::{Watcher, agent_as, front_end_of};
use crate::fresh;

const KILLS: usize = 40;
const AGENTS: usize = 3;

#[derive(Default)]
struct Shared {
    /// The number of kills, and one more when the agents have ended.
    kills: AtomicUsize,
    arrived: AtomicUsize,
    /// The front-end of each agent, so that it can be killed.
    front_ends: [Mutex<Option<i32>>; AGENTS],
    /// Answers that people were told are stored, by title.
    acknowledged: Mutex<BTreeMap<String, bool>>,
}

/// The answers that an agent received, by title, and the repeated deliveries without a mark.
#[derive(Debug, Default)]
struct Deliveries {
    answers: BTreeMap<String, bool>,
    unmarked: Vec<String>,
}

#[test]
fn forty_deaths_lose_no_question_and_no_answer_long_run() {
    let project = fresh();
    for number in 0..AGENTS {
        project.run(["quickstart", "--name", &format!("asker-{number}"), "--role", "test"]).ok();
    }
    let _watcher = Watcher::start(&project, Stdio::null());
    let shared = Shared::default();
    let seen: Vec<Deliveries> = std::thread::scope(|scope| {
        let (project, shared) = (&project, &shared);
        let agents = [0, 1, 2].map(|number| scope.spawn(move || live(project, number, shared)));
        (0..2).for_each(|_| drop(scope.spawn(move || answer_all(project, shared))));
        let mut random = Random::new(7);
        for kill in 0..KILLS {
            let there = shared.arrived.load(Ordering::Relaxed) + 1 + random.below(3);
            until("answers to arrive", || (shared.arrived.load(Ordering::Relaxed) >= there).then_some(()));
            // Agents first: a daemon waits ten seconds for the runs of its predecessor, and so would its successors.
            let pid = if kill < KILLS / 4 {
                shared.front_ends[kill % AGENTS].lock().unwrap().take()
            } else {
                project.daemon_pid()
            };
            pid.into_iter().for_each(kill_hard);
            shared.kills.fetch_add(1, Ordering::Relaxed);
        }
        let seen = agents.into_iter().map(|agent| agent.join().unwrap()).collect();
        shared.kills.fetch_add(1, Ordering::Relaxed);
        seen
    });
    let acknowledged = shared.acknowledged.into_inner().unwrap();
    for (number, seen) in seen.iter().enumerate() {
        let own = format!("asker-{number} ");
        assert!(seen.answers.keys().all(|title| title.starts_with(&own)), "to a stranger: {seen:?}");
        assert!(seen.unmarked.is_empty(), "seen again without a mark: {seen:?}");
    }
    for (title, yes) in &acknowledged {
        let got = seen.iter().find_map(|seen| seen.answers.get(title));
        assert_eq!(got, Some(yes), "lost, or another: {title}");
    }
    assert!(acknowledged.len() > KILLS, "hardly a load: {}", acknowledged.len());
}

/// Runs an agent that asks one question after another, and restarts when it is killed.
fn live(project: &TestProject, number: usize, shared: &Shared) -> Deliveries {
    let (mut seen, mut peer, mut turn) = (Deliveries::default(), None::<McpPeer>, 0);
    while shared.kills.load(Ordering::Relaxed) < KILLS {
        let title = format!("asker-{number} {turn}?");
        // Half of the questions are waited for; answers to the others arrive with other calls.
        let (waits, mut asked) = (turn % 2 == 0, false);
        turn += 1;
        until("the answer to arrive", || {
            let open = peer.get_or_insert_with(|| {
                let begun = agent_as(project, &["ask", "--as", &format!("asker-{number}")]);
                *shared.front_ends[number].lock().unwrap() = Some(front_end_of(&begun));
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
            let before = self.answers.insert(title.clone(), yes);
            assert_eq!(before.unwrap_or(yes), yes, "{title}");
            if before.is_some() && !is_marked {
                self.unmarked.push(result.to_string());
            }
        }
    }
}

/// Answers open questions until the agents have ended.
fn answer_all(project: &TestProject, shared: &Shared) {
    while shared.kills.load(Ordering::Relaxed) <= KILLS {
        // A list that is lost with its daemon is empty.
        let listed = project.run(["questions", "--json"]);
        let open: Value = serde_json::from_str(&listed.stdout).unwrap_or_default();
        for question in open.as_array().into_iter().flatten() {
            let (id, title) = (question["question"].as_str().unwrap(), question["title"].as_str().unwrap());
            let yes = !title.ends_with("3?");
            // Another person may have answered first.
            let answer = ["answer", id, if yes { "--yes" } else { "--no" }, "--note", title];
            if project.run(answer).code == Some(0) {
                shared.acknowledged.lock().unwrap().insert(title.to_owned(), yes);
            }
        }
    }
}

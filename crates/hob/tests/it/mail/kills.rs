//! Daemons are killed under load from real front-ends: every acknowledged message is delivered exactly once.
//!
//! Half of the senders repeat a send whose answer was lost, with its idempotency key; the others drop it. Readers take
//! messages as they arrive, and wait between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};
use testkit::{McpPeer, until};

use super::{Team, kill_daemon};

const READERS: u64 = 2;

#[test]
fn fifty_deaths_of_the_daemon_lose_and_double_nothing_long_run() {
    let team = Team::new();
    let agent = |_: u64, name: &str| {
        team.hob("planner", &["quickstart", "--name", name, "--role", "box"]);
        team.agent_with("planner", &["--profile", "thrum", "--as", name])
    };
    under_load(agent, 50, |_| kill_daemon(&team.project));
}

/// The state that all threads share.
#[derive(Default)]
struct Load {
    has_ended: AtomicBool,
    last: AtomicU64,
    acknowledged: AtomicU64,
}

/// Lets agents send and read while `disturb` runs again and again, and accounts for every message. `agent` starts an agent by
/// number and name.
pub(super) fn under_load(agent: impl Fn(u64, &str) -> McpPeer, rounds: u64, disturb: impl Fn(u64)) {
    let load = Arc::<Load>::default();
    let start = |role: &str, count: u64| (0..count).map(|n| agent(n, &format!("{role}-{n}"))).collect::<Vec<_>>();
    let mut readers = Vec::new();
    for peer in start("reader", READERS) {
        let load = load.clone();
        readers.push(std::thread::spawn(move || load.read(peer)));
    }
    let mut senders = Vec::new();
    for (number, peer) in start("sender", 6).into_iter().enumerate() {
        let load = load.clone();
        senders.push(std::thread::spawn(move || load.send(peer, number % 2 == 0)));
    }
    for round in 0..rounds {
        // At a different point each time: right after an answer, or while many calls are in flight.
        load.wait_for_more(1 + round * 7 % 23);
        disturb(round);
    }
    load.wait_for_more(1);
    load.has_ended.store(true, Ordering::Relaxed);
    let acknowledged: BTreeSet<u64> = senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect();
    let mut arrived = BTreeMap::<u64, Vec<String>>::new();
    for (number, id) in readers.into_iter().flat_map(|reader| reader.join().unwrap()) {
        arrived.entry(number).or_default().push(id);
    }
    let lost: Vec<_> = acknowledged.iter().filter(|number| !arrived.contains_key(number)).collect();
    let repeated: Vec<_> = arrived.iter().filter(|(_, ids)| ids.len() > 1).collect();
    assert!(lost.is_empty() && repeated.is_empty(), "lost: {lost:?}, repeated: {repeated:?}");
    assert!(acknowledged.len() as u64 > 5 * rounds, "hardly a load: {}", acknowledged.len());
}

impl Load {
    /// Waits until `more` sends are acknowledged.
    fn wait_for_more(&self, more: u64) {
        let goal = self.acknowledged.load(Ordering::Relaxed) + more;
        until("sends to be acknowledged", || (self.acknowledged.load(Ordering::Relaxed) >= goal).then_some(()));
    }

    /// Sends numbers to the readers, and returns the acknowledged ones.
    fn send(&self, mut peer: McpPeer, repeats: bool) -> BTreeSet<u64> {
        let mut acknowledged = BTreeSet::new();
        while !self.has_ended.load(Ordering::Relaxed) {
            let number = self.last.fetch_add(1, Ordering::Relaxed);
            let to = format!("agent:reader-{}", number % READERS);
            let mut call = json!({"to": to, "content": number.to_string()});
            if repeats {
                call["idempotency_key"] = json!(format!("key-{number}"));
            }
            let mut sent = answered(&mut peer, "send_message", call.clone());
            while repeats && sent.is_none() {
                sent = answered(&mut peer, "send_message", call.clone());
            }
            if let Some(sent) = sent {
                assert_eq!(sent["status"], "delivered");
                acknowledged.insert(number);
                self.acknowledged.fetch_add(1, Ordering::Relaxed);
            }
        }
        acknowledged
    }

    /// Returns the numbers that arrived, with the ids of their messages.
    fn read(&self, mut peer: McpPeer) -> Vec<(u64, String)> {
        let (mut arrived, mut quiet) = (Vec::new(), 0);
        while quiet < 2 {
            let is_over = self.has_ended.load(Ordering::Relaxed);
            let wait = json!({"timeout": 1, "max": 500});
            let Some(waited) = answered(&mut peer, "wait_for_message", wait) else { continue };
            let messages = waited["messages"].as_array().unwrap();
            quiet = if messages.is_empty() && is_over { quiet + 1 } else { 0 };
            let numbered = |message: &Value| {
                (message["content"].as_str().unwrap().parse().unwrap(), message["message_id"].to_string())
            };
            arrived.extend(messages.iter().map(numbered));
        }
        arrived
    }
}

/// Returns the result of a successful call; `None` if the daemon died during it or was unreachable.
fn answered(peer: &mut McpPeer, tool: &str, arguments: Value) -> Option<Value> {
    let id = peer.start_call(tool, arguments);
    let result = peer.response(id)["result"].take();
    (result.is_object() && result["isError"] != true).then(|| result["structuredContent"].clone())
}

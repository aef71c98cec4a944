//! A load that continues while something is broken repeatedly, and an account of each of its messages.
//!
//! Half of the senders repeat a send whose answer was lost, with its idempotency key; the others drop it. Readers take
//! messages as they arrive. Sleepers always block in a wait; a sleeper that a message does not wake is counted as deaf.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use testkit::{McpPeer, until};

/// The state that all threads share.
#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    last: AtomicU64,
    acknowledged: AtomicU64,
}

/// A load in progress.
pub(super) struct Load {
    shared: Arc<Shared>,
    senders: Vec<JoinHandle<BTreeSet<u64>>>,
    readers: Vec<JoinHandle<Arrivals>>,
}

/// The ids under which each number arrived, and the number of repeated arrivals.
type Arrivals = (BTreeMap<u64, BTreeSet<String>>, usize);

/// The result of a load.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) acknowledged: usize,
    pub(super) lost: usize,
    pub(super) doubled: usize,
    pub(super) handed_out_twice: usize,
}

impl Load {
    /// Starts senders that write to the readers, who are given with their names.
    pub(super) fn start(senders: Vec<McpPeer>, readers: Vec<(String, McpPeer)>) -> Load {
        let shared = Arc::new(Shared::default());
        let names: Vec<String> = readers.iter().map(|(name, _)| name.clone()).collect();
        let readers = readers.into_iter().map(|(_, peer)| {
            let shared = shared.clone();
            std::thread::spawn(move || read(peer, &shared))
        });
        let senders = senders.into_iter().enumerate().map(|(n, peer)| {
            let (shared, names) = (shared.clone(), names.clone());
            std::thread::spawn(move || send(peer, &names, n % 2 == 0, &shared))
        });
        Load { senders: senders.collect(), readers: readers.collect(), shared }
    }

    /// Waits until `count` more sends are acknowledged.
    pub(super) fn wait_for_more(&self, more: u64) {
        let until_there = self.shared.acknowledged.load(Ordering::Relaxed) + more;
        until("sends to be acknowledged", || {
            (self.shared.acknowledged.load(Ordering::Relaxed) >= until_there).then_some(())
        });
    }

    /// Ends the load, and counts the messages.
    pub(super) fn end(self) -> Count {
        self.shared.ended.store(true, Ordering::Relaxed);
        let acknowledged: BTreeSet<u64> = self.senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect();
        let (mut got, mut again) = (BTreeMap::<u64, BTreeSet<String>>::new(), 0);
        for reader in self.readers {
            let (taken, twice) = reader.join().unwrap();
            taken.into_iter().for_each(|(number, ids)| got.entry(number).or_default().extend(ids));
            again += twice;
        }
        Count {
            acknowledged: acknowledged.len(),
            lost: acknowledged.iter().filter(|number| !got.contains_key(number)).count(),
            doubled: got.values().filter(|ids| ids.len() > 1).count(),
            handed_out_twice: again,
        }
    }
}

fn send(mut peer: McpPeer, readers: &[String], repeats: bool, shared: &Shared) -> BTreeSet<u64> {
    let mut acknowledged = BTreeSet::new();
    while !shared.ended.load(Ordering::Relaxed) {
        let number = shared.last.fetch_add(1, Ordering::Relaxed);
        let to = &readers[number as usize % readers.len()];
        let mut call = json!({"to": format!("agent:{to}"), "content": number.to_string()});
        if repeats {
            call["idempotency_key"] = json!(format!("key-{number}"));
        }
        loop {
            if let Some(structured) = answered(&mut peer, "send_message", call.clone()) {
                assert_eq!(structured["status"], "delivered");
                acknowledged.insert(number);
                shared.acknowledged.fetch_add(1, Ordering::Relaxed);
                break;
            }
            if !repeats {
                break;
            }
        }
    }
    acknowledged
}

fn read(mut peer: McpPeer, shared: &Shared) -> Arrivals {
    let (mut got, mut again, mut quiet) = (BTreeMap::<u64, BTreeSet<String>>::new(), 0, 0);
    while quiet < 2 {
        let is_over = shared.ended.load(Ordering::Relaxed);
        let asked = json!({"timeout": 1, "max": 500});
        let Some(structured) = answered(&mut peer, "wait_for_message", asked) else { continue };
        let messages = structured["messages"].as_array().unwrap();
        quiet = if messages.is_empty() && is_over { quiet + 1 } else { 0 };
        for message in messages {
            let number = message["content"].as_str().unwrap().parse().unwrap();
            again += usize::from(!got.entry(number).or_default().insert(message["message_id"].to_string()));
        }
    }
    (got, again)
}

/// Returns the result of a successful call; `None` if the daemon died during it or was unreachable.
fn answered(peer: &mut McpPeer, tool: &str, arguments: Value) -> Option<Value> {
    let id = peer.start_call(tool, arguments);
    let result = peer.response(id)["result"].take();
    (result.is_object() && result["isError"] != true).then(|| result["structuredContent"].clone())
}

/// Agents that are blocked in a wait.
pub(super) struct Sleepers(Vec<(String, McpPeer, i64)>);

impl Sleepers {
    pub(super) fn new(peers: Vec<(String, McpPeer)>) -> Sleepers {
        let begin = |(name, mut peer): (String, McpPeer)| {
            let call = super::start_waiting(&mut peer, "all");
            (name, peer, call)
        };
        Sleepers(peers.into_iter().map(begin).collect())
    }

    /// Writes to each sleeper, checks that each wakes with exactly that message, and lets all wait again.
    pub(super) fn ring(&mut self, ringer: &mut McpPeer, ring: &str) {
        for (name, ..) in &self.0 {
            let key = format!("{ring} {name}");
            let call = json!({"to": format!("agent:{name}"), "content": ring, "idempotency_key": key});
            until("a ring to be sent", || answered(ringer, "send_message", call.clone()));
        }
        for (name, peer, call) in &mut self.0 {
            let woken = peer.answer(*call);
            assert_eq!(woken.structured["message"]["content"], Value::from(ring), "{name}: {}", woken.text);
            *call = super::start_waiting(peer, "all");
        }
    }
}

//! Hundreds of edits of all kinds while eight agents call: each answer is of a version that was in use, and no call fails.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use testkit::{McpPeer, Random, until};

use super::{engine, names_model, tool};
use crate::fresh;

const NAMES: [&str; 3] = ["a", "b", "c"];

fn text(version: usize) -> String {
    // Each version's value is requested once, and then cached.
    format!(
        "---\ndescription: Version {version}.\ninput: {{ schema: {{ text: string }} }}\noutput: {{ schema: {{ a: string }} }}\n\
         policy: {{ cache: 1d }}\n---\n{{{{ text }}}} {version}\n"
    )
}

/// The known versions of each node.
#[derive(Default)]
struct Versions {
    /// Version numbers by hash; each is recorded before it is saved.
    by_hash: Mutex<HashMap<String, usize>>,
    /// The newest version that has answered a call, by node.
    newest: [AtomicUsize; 3],
    answered: Mutex<BTreeSet<(usize, usize)>>,
}

impl Versions {
    fn note(&self, name: &str, version: usize) {
        let node = ::nodes::Node::parse(name, &text(version)).unwrap();
        self.by_hash.lock().unwrap().insert(node.hash, version);
    }

    /// Calls a node, and checks that its version was in use when the call began: none older than one that had already answered.
    fn call(&self, peer: &mut McpPeer, of: usize) {
        let newest = self.newest[of].load(Ordering::SeqCst);
        let result = peer.result("tools/call", json!({"name": NAMES[of], "arguments": {"text": "x"}}));
        assert_eq!(result["structuredContent"], json!({"state": "done", "result": {"a": ""}}), "{result}");
        let hash = result["_meta"]["hob/ledger"]["node_hash"].as_str().unwrap();
        let version = *self.by_hash.lock().unwrap().get(hash).unwrap_or_else(|| panic!("{hash} was never saved"));
        assert!(version >= newest, "{} answered with version {version} after {newest}", NAMES[of]);
        self.newest[of].fetch_max(version, Ordering::SeqCst);
        self.answered.lock().unwrap().insert((of, version));
    }
}

#[test]
fn five_hundred_edits_with_eight_agents_long_run() {
    let Some(engine) = engine() else { return };
    let project = fresh();
    project.write("hob.toml", &names_model(engine.url()));
    let file = |name: &str| project.root().join(format!("nodes/{name}.node.md"));
    let versions = Versions::default();
    for name in NAMES {
        versions.note(name, 0);
        project.write(&format!("nodes/{name}.node.md"), &text(0));
    }
    project.write("nodes/here.node.md", &text(0));
    let (is_over, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut peers: Vec<McpPeer> = (0..8).map(|_| project.mcp(&[])).collect();
    peers.iter_mut().for_each(|peer| drop(peer.initialize()));
    let mut kinds = BTreeMap::<&str, u32>::new();
    std::thread::scope(|scope| {
        for (number, peer) in peers.iter_mut().enumerate() {
            let (versions, is_over, calls) = (&versions, &is_over, &calls);
            scope.spawn(move || {
                for turn in number.. {
                    if is_over.load(Ordering::SeqCst) {
                        return;
                    }
                    versions.call(peer, turn % 3);
                    calls.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        // If an edit panics, the callers end too, so that the test fails.
        let over = Over(&is_over);
        let mut random = Random::new(21);
        for edit in 1..=500 {
            let name = NAMES[random.below(3)];
            let whole = text(edit);
            let what = random.below(6);
            if what != 1 && what != 3 {
                versions.note(name, edit);
            }
            let kind = match what {
                0 => {
                    // Write half of the file, and later all of it.
                    std::fs::write(file(name), &whole[..whole.len() / 2]).unwrap();
                    std::thread::sleep(Duration::from_millis(random.below(200) as u64)); // sleeps: an editor is slow
                    std::fs::write(file(name), &whole).unwrap();
                    "half-written"
                }
                1 => {
                    std::fs::write(file(name), "---\ndescription: [\n---\nbroken\n").unwrap();
                    "broken"
                }
                2 => {
                    // Many editors save by replacing the file.
                    let new = project.root().join("nodes/.new");
                    std::fs::write(&new, &whole).unwrap();
                    std::fs::rename(&new, file(name)).unwrap();
                    "replaced"
                }
                3 => {
                    // Rename a node that is not called, back and forth.
                    let (from, to) = if file("here").exists() { ("here", "there") } else { ("there", "here") };
                    std::fs::rename(file(from), file(to)).unwrap();
                    "renamed"
                }
                _ => {
                    std::fs::write(file(name), &whole).unwrap();
                    "saved"
                }
            };
            *kinds.entry(kind).or_default() += 1;
            if random.below(4) == 0 {
                std::thread::sleep(Duration::from_millis(random.below(200) as u64)); // sleeps: edits come at any time
            }
        }
        for name in NAMES {
            versions.note(name, 501);
            std::fs::write(file(name), text(501)).unwrap();
        }
        until("the last version of each", || {
            versions.newest.iter().all(|newest| newest.load(Ordering::SeqCst) == 501).then_some(())
        });
        drop(over);
    });
    let calls = calls.into_inner();
    let answered = versions.answered.lock().unwrap().len();
    println!("500 edits ({kinds:?}), {calls} calls, {answered} versions answered");
    assert!(calls > 500 && answered > 50, "{calls} calls, {answered} versions answered");
    let said = tool(&mut peers[0], "a").unwrap()["description"].to_string();
    assert!(said.contains("Version 501."), "{said}");
}

/// Signals the end when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

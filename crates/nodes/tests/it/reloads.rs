//! A watched worktree whose files change: answers always come from an available version, and no call is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nodes::folder::Folder;
use nodes::registry::{State, Worktree};
use parking_lot::Mutex;

fn text(version: usize) -> String {
    format!(
        "---\ndescription: Version {version}.\ninput: {{ schema: {{ text: string }} }}\noutput: {{ schema: {{ a: string }} }}\n---\n{{{{ text }}}} {version}\n"
    )
}

pub(crate) async fn follow(root: &Path) -> Arc<Worktree> {
    Arc::new(Worktree::follow(Folder::new(root, "nodes"), Arc::new(|_| ())).await)
}

/// Waits until the available nodes meet a condition.
pub(crate) async fn until(worktree: &Worktree, what: &str, is: impl Fn(&nodes::registry::Served) -> bool) {
    let mut changes = worktree.changes();
    let waiting = async {
        while !is(&worktree.served()) {
            changes.changed().await.expect("it is followed");
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting)
        .await
        .unwrap_or_else(|_| panic!("{what}: {:?}", worktree.served()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn five_hundred_edits_with_eight_callers_long_run() {
    let place = tempfile::tempdir().expect("a directory");
    let folder = place.path().join("nodes");
    std::fs::create_dir(&folder).expect("a directory");
    let names = ["a", "b", "c"];
    // Every valid text so far, by its hash.
    let good = Arc::new(Mutex::new(BTreeSet::new()));
    let save = |name: &str, text: &str, good: &Mutex<BTreeSet<String>>| {
        if let Ok(node) = nodes::Node::parse(name, text) {
            good.lock().insert(node.hash);
        }
        std::fs::write(folder.join(format!("{name}.node.md")), text).expect("written");
    };
    names.iter().for_each(|name| save(name, &text(0), &good));
    let worktree = follow(place.path()).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let (worktree, is_over, good) = (worktree.clone(), is_over.clone(), good.clone());
            tokio::spawn(async move {
                let (mut calls, mut newest) = (0_u64, BTreeMap::<String, usize>::new());
                while !is_over.load(Ordering::Relaxed) {
                    let served = worktree.served();
                    for (name, entry) in &served.entries {
                        // A version in use answers to the end, whatever is saved meanwhile.
                        let node = entry.node.as_ref().expect("each was good once, and its last good version serves");
                        assert!(good.lock().contains(&node.hash), "{}", node.hash);
                        let number =
                            node.description.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("a number");
                        let before = newest.insert(name.clone(), number).unwrap_or_default();
                        assert!(number >= before, "{name} was served in version {number} after {before}");
                        let input = serde_json::Map::from_iter([("text".to_owned(), "x".into())]);
                        assert!(node.complete(input).is_ok());
                        calls += 1;
                    }
                    tokio::task::yield_now().await;
                }
                calls
            })
        })
        .collect();
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut below = |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    let mut saves = BTreeMap::<&str, u32>::new();
    // A broken file that was removed and restored has no last good version.
    let mut broken = BTreeSet::new();
    for edit in 1..=500 {
        let name = names[below(3) as usize];
        let path = folder.join(format!("{name}.node.md"));
        let whole = text(edit);
        let what = below(5);
        let kind = match what {
            3 if broken.contains(name) => {
                save(name, &whole, &good);
                "saved"
            }
            0 => {
                // First a half, then the whole text.
                std::fs::write(&path, &whole[..whole.len() / 2]).expect("written");
                tokio::task::yield_now().await;
                save(name, &whole, &good);
                "half"
            }
            1 => {
                save(name, "---\ndescription: [\n---\nbroken\n", &good);
                "broken"
            }
            2 => {
                // Many editors save like this: a new file replaces the old one.
                let new = folder.join(".new");
                if let Ok(node) = nodes::Node::parse(name, &whole) {
                    good.lock().insert(node.hash);
                }
                std::fs::write(&new, &whole).expect("written");
                std::fs::rename(&new, &path).expect("renamed");
                "renamed"
            }
            3 => {
                let aside = folder.join(format!("{name}.aside"));
                if std::fs::rename(&path, &aside).is_ok() {
                    std::fs::rename(&aside, &path).expect("renamed");
                }
                "aside"
            }
            _ => {
                save(name, &whole, &good);
                "saved"
            }
        };
        match kind {
            "broken" => _ = broken.insert(name),
            "aside" => {}
            _ => _ = broken.remove(name),
        }
        *saves.entry(kind).or_default() += 1;
        if below(4) == 0 {
            tokio::time::sleep(Duration::from_millis(below(60))).await; // sleeps: edits come at any time
        }
    }
    names.iter().for_each(|name| save(name, &text(501), &good));
    until(&worktree, "the last version", |served| {
        names.iter().all(|name| {
            served.entries.get(*name).is_some_and(|entry| {
                entry.state() == State::Serving
                    && entry.node.as_ref().is_some_and(|node| node.description == "Version 501.")
            })
        })
    })
    .await;
    is_over.store(true, Ordering::Relaxed);
    let mut calls = 0;
    for caller in callers {
        calls += caller.await.expect("no call fails because of a reload");
    }
    println!("500 edits ({saves:?}), {calls} calls");
    assert!(calls > 500);
}

#[tokio::test]
async fn from_save_to_serving() {
    let place = tempfile::tempdir().expect("a directory");
    let worktree = follow(place.path()).await;
    assert!(worktree.served().entries.is_empty());
    let folder = place.path().join("nodes");
    std::fs::create_dir(&folder).expect("a directory");
    let mut times = Vec::new();
    for edit in 0..40 {
        let begun = Instant::now();
        std::fs::write(folder.join("a.node.md"), text(edit)).expect("written");
        let wanted = format!("Version {edit}.");
        until(&worktree, &wanted, |served| {
            served.entries.get("a").and_then(|entry| entry.node.as_ref()).is_some_and(|node| node.description == wanted)
        })
        .await;
        times.push(begun.elapsed());
    }
    times.sort();
    println!("from save to serving: p50 {:?}, p95 {:?}", times[times.len() / 2], times[times.len() * 95 / 100]);
    // The directory is removed and restored.
    std::fs::remove_dir_all(&folder).expect("removed");
    until(&worktree, "nothing", |served| served.entries.is_empty()).await;
    std::fs::create_dir(&folder).expect("a directory");
    std::fs::write(folder.join("b.node.md"), text(7)).expect("written");
    until(&worktree, "another", |served| served.entries.contains_key("b")).await;
}

#[tokio::test]
async fn a_directory_that_is_a_link_serves_nothing_and_says_so() {
    let place = tempfile::tempdir().expect("a directory");
    let elsewhere = tempfile::tempdir().expect("a directory");
    std::fs::write(elsewhere.path().join("a.node.md"), text(0)).expect("written");
    std::os::unix::fs::symlink(elsewhere.path(), place.path().join("nodes")).expect("a link");
    let worktree = follow(place.path()).await;
    let served = worktree.served();
    assert!(served.entries.is_empty());
    assert_eq!(served.error.as_deref(), Some("nodes/ is a link, and links are not followed; make it a directory"));
}

#[tokio::test]
async fn five_hundred_files_are_loaded_and_one_more_is_too_many() {
    let place = tempfile::tempdir().expect("a directory");
    let folder = place.path().join("nodes");
    std::fs::create_dir(&folder).expect("a directory");
    for number in 0..500 {
        std::fs::write(folder.join(format!("n{number}.node.md")), text(number)).expect("written");
    }
    let begun = Instant::now();
    let worktree = follow(place.path()).await;
    until(&worktree, "all of them", |served| served.entries.len() == 500).await;
    println!("500 files loaded and checked in {:?}", begun.elapsed());
    std::fs::write(folder.join("more.node.md"), text(0)).expect("written");
    until(&worktree, "too many", |served| served.error.is_some()).await;
    let served = worktree.served();
    assert_eq!(served.entries.len(), 500, "what was served still is");
    assert_eq!(served.error.as_deref(), Some("nodes/ has more than 500 node files, the limit"));
}

#[tokio::test]
async fn the_journal_hears_what_becomes_of_a_file() {
    let place = tempfile::tempdir().expect("a directory");
    let folder = place.path().join("nodes");
    std::fs::create_dir(&folder).expect("a directory");
    let file = folder.join("a.node.md");
    std::fs::write(&file, text(0)).expect("written");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = heard.clone();
    let recorder = Arc::new(move |record: nodes::Record| kept.lock().push(record));
    let worktree = Worktree::follow(Folder::new(place.path(), "nodes"), recorder).await;
    std::fs::write(&file, "broken").expect("written");
    until(&worktree, "broken", |served| served.entries["a"].state() == State::LastGood).await;
    std::fs::remove_file(&file).expect("removed");
    until(&worktree, "gone", |served| served.entries.is_empty()).await;
    let heard: Vec<String> = heard.lock().iter().map(|record| format!("{record:?}")).collect();
    let words = ["NodeServed { node: \"a\"", "NodeInvalid { node: \"a\"", "NodeGone { node: \"a\""];
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(heard.iter().zip(words).all(|(record, word)| record.starts_with(word)), "{heard:?}");
    assert!(heard[1].contains("nodes/a.node.md:1: a node file must begin with a line `---`"), "{heard:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_files_do_not_hold_up_an_agent_that_begins() {
    let place = tempfile::tempdir().expect("a directory");
    let folder = place.path().join("nodes");
    std::fs::create_dir(&folder).expect("a directory");
    std::fs::write(folder.join("a.node.md"), text(0)).expect("written");
    let fields: String = (0..8000).map(|number| format!("f{number}: string, ")).collect();
    for name in ["slow1", "slow2", "slow3"] {
        let slow = format!(
            "---\ndescription: Slow.\ninput: {{ schema: {{ {fields} }} }}\noutput: {{ schema: {{ a: string }} }}\n---\n{{{{ f0 }}}}\n"
        );
        std::fs::write(folder.join(format!("{name}.node.md")), slow).expect("written");
    }
    // Checking them takes longer than a client waits for its first answer.
    let worktree = tokio::time::timeout(Duration::from_secs(10), follow(place.path())).await.expect("it begins soon");
    until(&worktree, "the quick one", |served| served.entries.contains_key("a")).await;
    until(&worktree, "all are checked", |served| served.entries.len() == 4).await;
}

//! The nodes of a worktree while it is followed: its files are read when they change, all changes of a moment become one
//! swap, and of a file that fails the last good version goes on being served. Calls keep the version that they began with.

mod served;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch::{Receiver, Sender};
use tokio::task::JoinHandle;

use crate::Record;
use crate::folder::Folder;
pub use served::{Entry, Served, State};

/// After how long without a change the files are read.
const QUIET: Duration = Duration::from_millis(100);
/// How often the files are read where they cannot be watched.
const POLL: Duration = Duration::from_secs(2);

/// How long a worktree that begins to be followed waits for its nodes: an agent's client waits for this.
const FIRST_WITHIN: Duration = Duration::from_secs(1);
/// How often the nodes that are checked so far are served while others are still checked.
const PUBLISH: Duration = Duration::from_millis(300);

/// Takes the journal's records.
pub type Recorder = Arc<dyn Fn(Record) + Send + Sync>;

/// A worktree that is followed until this is dropped.
pub struct Worktree {
    path: PathBuf,
    served: Receiver<Arc<Served>>,
    /// True if all files were checked once.
    is_loaded: Receiver<bool>,
    following: JoinHandle<()>,
}

impl Drop for Worktree {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl Worktree {
    /// Begins to follow a worktree. Its nodes are loaded when this returns, or as many as could be checked soon: the others
    /// come as changes.
    pub async fn follow(folder: Folder, record: Recorder) -> Worktree {
        let path = folder.worktree().to_owned();
        // It is watched before it is read, so that nothing falls in between.
        let watcher = watch::Watcher::start(path.clone(), options(folder.path())).await;
        let watcher = watcher.inspect_err(|error| tracing::warn!(%error, "node files are polled")).ok();
        let changes = watcher.as_ref().map(|watcher| watcher.subscribe().1);
        let (sender, served) = tokio::sync::watch::channel(Arc::default());
        let (loaded, is_loaded) = tokio::sync::watch::channel(false);
        let mut follower = Follower { folder, record, served: sender };
        let following = tokio::spawn(async move {
            let (_watcher, mut changes) = (watcher, changes);
            follower = follower.read().await;
            loaded.send_replace(true);
            loop {
                let is_watched = match &mut changes {
                    Some(changes) => changes.next().await.is_some(),
                    None => {
                        tokio::time::sleep(POLL).await;
                        true
                    }
                };
                if !is_watched {
                    changes = None;
                }
                follower = follower.read().await;
            }
        });
        let worktree = Worktree { path, served, is_loaded, following };
        worktree.loaded(FIRST_WITHIN).await;
        worktree
    }

    /// Waits until all files were checked once. Returns whether they were, within this time.
    pub(crate) async fn loaded(&self, within: Duration) -> bool {
        let mut is_loaded = self.is_loaded.clone();
        tokio::time::timeout(within, is_loaded.wait_for(|is_loaded| *is_loaded))
            .await
            .is_ok_and(|loaded| loaded.is_ok())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is served now.
    pub fn served(&self) -> Arc<Served> {
        self.served.borrow().clone()
    }

    /// Wakes up on each swap.
    pub fn changes(&self) -> Receiver<Arc<Served>> {
        self.served.clone()
    }
}

/// Only the directory of node files is watched, and the directories that it lies in.
fn options(path: &Path) -> watch::Options {
    let mut ignored = vec!["/*".to_owned()];
    let mut place = String::new();
    for part in path.iter() {
        place.push('/');
        place.push_str(&escaped(&part.to_string_lossy()));
        ignored.extend([format!("!{place}"), format!("{place}/*")]);
    }
    // What node files include has the same end.
    ignored.push(format!("!{place}/*.md"));
    watch::Options { quiet: QUIET, ignored, ..watch::Options::default() }
}

/// As a pattern that means itself.
fn escaped(name: &str) -> String {
    let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '!' | '#' | '\\' | ' ');
    name.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// Reads the files, off the runtime's threads.
#[derive(Clone)]
struct Follower {
    folder: Folder,
    record: Recorder,
    served: Sender<Arc<Served>>,
}

impl Follower {
    async fn read(self) -> Follower {
        let kept = self.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut published = Instant::now();
            let before = self.served.borrow().clone();
            let (after, news) = Served::read(&self.folder, &before, |so_far| {
                // Somebody may wait for the first ones.
                if before.entries.is_empty() || published.elapsed() >= PUBLISH {
                    self.publish(so_far());
                    published = Instant::now();
                }
            });
            news.into_iter().for_each(|news| (self.record)(news));
            self.publish(after);
            self
        });
        // A panic in a parser leaves what was served.
        read.await.unwrap_or(kept)
    }

    fn publish(&self, served: Served) {
        self.served.send_if_modified(|before| {
            let is_new = **before != served;
            if is_new {
                *before = Arc::new(served);
            }
            is_new
        });
    }
}

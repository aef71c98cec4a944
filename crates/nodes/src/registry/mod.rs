//! Watches the node files of a worktree. Changed files are reloaded, and simultaneous changes are published together. If a file
//! becomes invalid, its last good version remains available. Calls keep the version that they began with.

mod available_nodes;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch::{Receiver, Sender};
use tokio::task::JoinHandle;

use crate::Record;
use crate::folder::Folder;
pub use available_nodes::{Entry, Served, State};

/// The time without changes before the files are read.
const QUIET: Duration = Duration::from_millis(100);
/// The polling interval for files that cannot be watched.
const POLL: Duration = Duration::from_secs(2);

/// The time limit for loading the nodes of a new worktree, because an agent's client waits for it.
const FIRST_WITHIN: Duration = Duration::from_secs(1);
/// The interval for publishing checked nodes while others are still being checked.
const PUBLISH: Duration = Duration::from_millis(300);

/// A callback for journal records.
pub type Recorder = Arc<dyn Fn(Record) + Send + Sync>;

/// A worktree that is watched until this is dropped.
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
    /// Starts to watch a worktree. On return its nodes are loaded, up to the time limit. The others follow as
    /// changes.
    pub async fn follow(folder: Folder, record: Recorder) -> Worktree {
        let path = folder.worktree().to_owned();
        // Watching starts before the first read, so that no change is missed.
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

    /// Waits until all files were checked once. Returns false on a timeout.
    pub(crate) async fn loaded(&self, within: Duration) -> bool {
        let mut is_loaded = self.is_loaded.clone();
        tokio::time::timeout(within, is_loaded.wait_for(|is_loaded| *is_loaded))
            .await
            .is_ok_and(|loaded| loaded.is_ok())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current nodes.
    pub fn served(&self) -> Arc<Served> {
        self.served.borrow().clone()
    }

    /// Returns a receiver that is notified of each change.
    pub fn changes(&self) -> Receiver<Arc<Served>> {
        self.served.clone()
    }
}

/// Builds the options to watch only the directory of node files and its parents.
fn options(path: &Path) -> watch::Options {
    let mut ignored = vec!["/*".to_owned()];
    let mut place = String::new();
    for part in path.iter() {
        place.push('/');
        place.push_str(&escaped(&part.to_string_lossy()));
        ignored.extend([format!("!{place}"), format!("{place}/*")]);
    }
    // Included files have the same suffix.
    ignored.push(format!("!{place}/*.md"));
    watch::Options { quiet: QUIET, ignored, ..watch::Options::default() }
}

/// Escapes a name for a pattern.
fn escaped(name: &str) -> String {
    let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '!' | '#' | '\\' | ' ');
    name.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// Reads the files, outside the threads of the runtime.
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
                // A caller may wait for the first nodes.
                if before.entries.is_empty() || published.elapsed() >= PUBLISH {
                    self.publish(so_far());
                    published = Instant::now();
                }
            });
            news.into_iter().for_each(|news| (self.record)(news));
            self.publish(after);
            self
        });
        // After a panic in a parser, the previous nodes stay available.
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

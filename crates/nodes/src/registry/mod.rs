//! The nodes of a worktree while it is followed: its files are read when they change, all changes of a moment become one
//! swap, and of a file that fails the last good version goes on being served. Calls keep the version that they began with.

mod served;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;

use crate::Record;
use crate::folder::Folder;
pub use served::{Entry, Served, State};

/// After how long without a change the files are read.
const QUIET: Duration = Duration::from_millis(100);
/// How often the files are read where they cannot be watched.
const POLL: Duration = Duration::from_secs(2);

/// Takes the journal's records.
pub type Recorder = Arc<dyn Fn(Record) + Send + Sync>;

/// A worktree that is followed until this is dropped.
pub struct Worktree {
    path: PathBuf,
    served: Receiver<Arc<Served>>,
    following: JoinHandle<()>,
}

impl Drop for Worktree {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl Worktree {
    /// Begins to follow a worktree. All of its nodes are loaded when this returns.
    pub async fn follow(folder: Folder, record: Recorder) -> Worktree {
        let path = folder.worktree().to_owned();
        // It is watched before it is read, so that nothing falls in between.
        let watcher = watch::Watcher::start(path.clone(), options(folder.path())).await;
        let watcher = watcher.inspect_err(|error| tracing::warn!(%error, "node files are polled")).ok();
        let changes = watcher.as_ref().map(|watcher| watcher.subscribe().1);
        let mut follower = Follower { folder, record };
        let (loaded, first) = follower.read(Arc::default()).await;
        follower = loaded;
        let (sender, served) = tokio::sync::watch::channel(first);
        let following = tokio::spawn(async move {
            let (_watcher, mut changes) = (watcher, changes);
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
                let before = sender.borrow().clone();
                let (read, after) = follower.read(before.clone()).await;
                follower = read;
                if *after != *before {
                    sender.send_replace(after);
                }
            }
        });
        Worktree { path, served, following }
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
struct Follower {
    folder: Folder,
    record: Recorder,
}

impl Follower {
    async fn read(self, before: Arc<Served>) -> (Follower, Arc<Served>) {
        let (folder, record) = (self.folder.clone(), self.record.clone());
        let kept = before.clone();
        let read = tokio::task::spawn_blocking(move || {
            let (after, news) = Served::read(&self.folder, &before);
            news.into_iter().for_each(|news| (self.record)(news));
            (self, Arc::new(after))
        });
        // A panic in a parser leaves what was served.
        read.await.unwrap_or_else(|_| (Follower { folder, record }, kept))
    }
}

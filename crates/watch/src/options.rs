//! What a caller chooses: times, limits and what is not watched. The defaults suit a worktree on a local disk.

use std::time::Duration;

/// How a [`Watcher`](crate::Watcher) works.
#[derive(Clone, Debug)]
pub struct Options {
    /// A batch is delivered once nothing has happened for this long…
    pub quiet: Duration,
    /// …and under constant change at the latest after this long.
    pub max_delay: Duration,
    /// What is not watched, as lines of a `.gitignore` at the root. They take precedence over every `.gitignore` of the
    /// checkout. `.git` is never watched.
    pub ignored: Vec<String>,
    /// How often a full scan looks for changes where inotify cannot. A slow scan is made less often: no more than a
    /// twentieth of the time goes into scanning.
    pub poll_every: Duration,
    /// Poll from the start, where the caller knows that inotify sees too little.
    pub polling: bool,
    /// Directories watched at most; beyond it the tree is polled.
    pub max_watches: usize,
    /// Paths known at most; what is beyond it is not seen, and [`sync`](crate::Watcher::sync) says so.
    pub max_entries: usize,
    /// How long [`sync`](crate::Watcher::sync) waits.
    pub sync_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(50),
            max_delay: Duration::from_millis(500),
            ignored: Vec::new(),
            poll_every: Duration::from_secs(2),
            polling: false,
            max_watches: 65_536,
            max_entries: 500_000,
            sync_timeout: Duration::from_secs(10),
        }
    }
}

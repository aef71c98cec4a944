//! Options of a watcher: times, limits and ignored paths. The defaults suit a worktree on a local disk.

use std::time::Duration;

/// Options of a [`Watcher`](crate::Watcher).
#[derive(Clone, Debug)]
pub struct Options {
    /// A batch is delivered when nothing has changed for this long…
    pub quiet: Duration,
    /// …and at the latest after this long while changes continue.
    pub max_delay: Duration,
    /// Paths to ignore, as lines of a `.gitignore` at the root. They take precedence over every `.gitignore` of the
    /// checkout. `.git` is always ignored.
    pub ignored: Vec<String>,
    /// Interval between full scans where inotify cannot be used. Slow scans run less often: scanning takes at most a
    /// twentieth of the time.
    pub poll_every: Duration,
    /// Polls from the start, for a caller that knows that inotify is insufficient.
    pub polling: bool,
    /// Maximum number of watched directories. Above it the tree is polled.
    pub max_watches: usize,
    /// Maximum number of known paths. Paths above it are not seen, and [`sync`](crate::Watcher::sync) returns an error.
    pub max_entries: usize,
    /// Timeout of [`sync`](crate::Watcher::sync).
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

//! Watch mode and status, as shown by `hob doctor`.

use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The kernel reports changes.
    Inotify,
    /// hob compares full scans, at an interval and for each [`sync`](crate::Watcher::sync).
    Polling { why: PollReason },
}

/// Reason for polling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollReason {
    /// Requested by [`Options::polling`](crate::Options::polling).
    Requested,
    /// The root directory does not exist at the moment, or cannot be opened.
    NoRoot,
    /// inotify does not report changes made by other machines on this kind of file system.
    FileSystem { name: &'static str, path: PathBuf },
    /// The tree has more directories than [`Options::max_watches`](crate::Options::max_watches).
    MaxWatches { limit: usize },
    /// The tree has more paths than [`Options::max_entries`](crate::Options::max_entries). The view is incomplete.
    MaxEntries { limit: usize },
    /// The system has no inotify (macOS).
    System,
    /// `ENOSPC`: the user's limit of inotify watches is reached.
    KernelWatches,
    /// inotify is missing, its instance limit is reached (`EMFILE`), or it failed with this error.
    Inotify { error: String },
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inotify => f.write_str("inotify"),
            Self::Polling { why } => write!(f, "polling: {why}"),
        }
    }
}

impl fmt::Display for PollReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("requested"),
            Self::NoRoot => f.write_str("the root directory cannot be opened"),
            Self::FileSystem { name, path } if path.as_os_str().is_empty() => {
                write!(f, "the root is on {name}, where inotify does not report changes by other machines")
            }
            Self::FileSystem { name, path } => {
                write!(f, "{path:?} is on {name}, where inotify does not report changes by other machines")
            }
            Self::MaxWatches { limit } => {
                write!(f, "more than {limit} directories; exclude directories in .gitignore")
            }
            Self::MaxEntries { limit } => {
                write!(f, "more than {limit} paths, and the rest is not watched; exclude paths in .gitignore")
            }
            Self::System => f.write_str("this system has no inotify"),
            Self::KernelWatches => {
                f.write_str("no inotify watches left; raise fs.inotify.max_user_watches with sysctl")
            }
            Self::Inotify { error } => {
                write!(f, "inotify fails: {error}; fs.inotify.max_user_instances may be too low")
            }
        }
    }
}

/// Status of a watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub mode: Mode,
    /// Number of known directories, including the root.
    pub directories: usize,
    /// Number of known paths, directories included, without the root.
    pub entries: usize,
    /// Full scans after the first: polls, and rescans after lost events or a replaced root.
    pub rescans: u64,
    /// Directories that cannot be read. Their contents are unknown.
    pub unreadable: Vec<PathBuf>,
    /// `.gitignore` files that are not applied: too large, too many, or not a regular file.
    pub rules_refused: Vec<PathBuf>,
}

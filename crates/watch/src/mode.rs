//! How the tree is watched and why not better: what `hob doctor` shows.

use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The kernel says what happens.
    Inotify,
    /// A full scan is compared with the last one, every so often and for each [`sync`](crate::Watcher::sync).
    Polling { why: Why },
}

/// Why the tree is polled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// [`Options::polling`](crate::Options::polling).
    Asked,
    /// The root directory is not there at the moment, or cannot be opened.
    NoRoot,
    /// What other machines change on this kind of file system, inotify does not see.
    FileSystem { name: &'static str, path: PathBuf },
    /// More directories than [`Options::max_watches`](crate::Options::max_watches).
    MaxWatches { limit: usize },
    /// More paths than [`Options::max_entries`](crate::Options::max_entries): the view is not complete.
    MaxEntries { limit: usize },
    /// `ENOSPC`: the user has no watches left.
    KernelWatches,
    /// inotify is missing, or its limit of instances is reached (`EMFILE`), or it failed as the text says.
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

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("asked for"),
            Self::NoRoot => f.write_str("the root directory cannot be opened"),
            Self::FileSystem { name, path } if path.as_os_str().is_empty() => {
                write!(f, "the root is on {name}, where inotify does not see what others change")
            }
            Self::FileSystem { name, path } => {
                write!(f, "{path:?} is on {name}, where inotify does not see what others change")
            }
            Self::MaxWatches { limit } => {
                write!(f, "more than {limit} directories; ignore what need not be watched in .gitignore")
            }
            Self::MaxEntries { limit } => {
                write!(
                    f,
                    "more than {limit} paths, of which the rest is not seen; ignore what need not be in .gitignore"
                )
            }
            Self::KernelWatches => {
                f.write_str("no inotify watches left; raise fs.inotify.max_user_watches with sysctl")
            }
            Self::Inotify { error } => {
                write!(f, "inotify fails: {error}; fs.inotify.max_user_instances may be too low")
            }
        }
    }
}

/// What there is to say about a watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub mode: Mode,
    /// Directories known, the root among them.
    pub directories: usize,
    /// Paths known, directories among them, without the root.
    pub entries: usize,
    /// Full scans after the first: each poll, and each time that events were lost or the root was another.
    pub rescans: u64,
    /// Directories whose content cannot be read, and so is not known.
    pub unreadable: Vec<PathBuf>,
    /// `.gitignore` files whose rules do not hold: too large, too many, or no regular file.
    pub rules_refused: Vec<PathBuf>,
}

//! Watches a worktree: a view of its paths that are not ignored, batches of changes, and [`Watcher::sync`], which
//! returns when all earlier changes are delivered.
//!
//! - [`Watcher`] is a handle. One thread owns inotify, the tree and all disk access ([`event_loop`]), so no async
//!   thread blocks.
//! - [`Subscription`] receives the batches. A slow subscriber receives them merged.
//! - [`Mode`] tells how the tree is watched. Where inotify is unavailable or insufficient, full scans are compared.
//!
//! Limits: a write through a memory mapping is seen when the file is closed. A root whose parent is moved is missed
//! until the next event or sync. Only `.gitignore` files are applied, and they hide tracked files too.
//!
//! A checkout is untrusted: links are not followed, FIFOs and devices are not opened, sizes are limited. The crate
//! knows nothing of projects or languages. Start at [`event_loop`].

mod change;
mod event_loop;
mod files;
#[cfg_attr(target_os = "macos", expect(dead_code, reason = "only a source of events calls some of it"))]
mod inbox;
mod mode;
mod options;
mod rules;
mod scan;
mod source;
mod subscription;
mod tree;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

pub use change::{Batch, Change, ChangeKind, FileKind};
pub use mode::{Mode, PollReason, Status};
pub use options::Options;
pub use subscription::{Subscription, View};

use event_loop::EventLoop;
use inbox::Inbox;
use subscription::Publisher;

/// A handle to the watcher of one tree. Dropping the last handle ends the thread, the watches and the subscriptions.
#[derive(Clone)]
pub struct Watcher(Arc<Handle>);

struct Handle {
    inbox: Arc<Inbox>,
    publisher: Arc<Publisher>,
    sync_timeout: Duration,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.inbox.stop();
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot watch {root:?}")]
    Root { root: PathBuf, source: io::Error },
    #[error("cannot watch {root:?}: it is not a directory")]
    NoDirectory { root: PathBuf },
    #[error("cannot start a watcher thread for {root:?}")]
    Thread { root: PathBuf, source: io::Error },
    #[error("the watcher ended during its start")]
    Ended,
}

/// Reasons why earlier changes may be missing from the batches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    #[error("the changes are still unknown after {after:?}; the disk is slow or the tree is large")]
    TimedOut { after: Duration },
    #[error("the tree has more than {limit} paths, and the rest is not watched; exclude paths in .gitignore")]
    MaxEntries { limit: usize },
    #[error("cannot read a directory; hob will retry")]
    Unfinished,
    #[error("the watcher ended")]
    Ended,
}

impl Watcher {
    /// Starts the watcher and returns after the first scan. The root may later disappear and reappear.
    pub async fn start(root: impl Into<PathBuf>, options: Options) -> Result<Self, StartError> {
        let root = root.into();
        let inbox = Arc::new(Inbox::default());
        let publisher = Arc::new(Publisher::new(Status {
            mode: Mode::Inotify,
            directories: 0,
            entries: 0,
            rescans: 0,
            unreadable: Vec::new(),
            rules_refused: Vec::new(),
        }));
        let handle = Handle { inbox: inbox.clone(), publisher: publisher.clone(), sync_timeout: options.sync_timeout };
        let (ready, is_ready) = oneshot::channel();
        let thread = std::thread::Builder::new().name("watch".to_owned());
        let at = root.clone();
        let spawned = thread.spawn(move || {
            let end = End { publisher: publisher.clone(), inbox: inbox.clone() };
            match resolve(at) {
                Ok(root) => EventLoop::new(root, options, inbox, publisher).run(|| {
                    let _ = ready.send(Ok(()));
                }),
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            }
            drop(end);
        });
        spawned.map_err(|source| StartError::Thread { root, source })?;
        is_ready.await.unwrap_or(Err(StartError::Ended))?;
        Ok(Self(Arc::new(handle)))
    }

    /// Returns the current view and a subscription to the changes that follow it.
    pub fn subscribe(&self) -> (View, Subscription) {
        self.0.publisher.subscribe()
    }

    /// Waits until every change made before the call is in the view and delivered to the subscribers.
    pub async fn sync(&self) -> Result<(), SyncError> {
        let (reply, answer) = oneshot::channel();
        self.0.inbox.sync(reply);
        let after = self.0.sync_timeout;
        match tokio::time::timeout(after, answer).await {
            Ok(answer) => answer.unwrap_or(Err(SyncError::Ended)),
            Err(_) => Err(SyncError::TimedOut { after }),
        }
    }

    /// Returns the known paths.
    pub fn view(&self) -> View {
        self.0.publisher.view()
    }

    /// Returns the number of batches published so far, including the first scan.
    pub fn batches(&self) -> u64 {
        self.0.publisher.batches()
    }

    pub fn mode(&self) -> Mode {
        self.status().mode
    }

    pub fn status(&self) -> Status {
        self.0.publisher.status()
    }
}

fn resolve(root: PathBuf) -> Result<PathBuf, StartError> {
    match std::fs::canonicalize(&root) {
        Ok(resolved) if Path::is_dir(&resolved) => Ok(resolved),
        Ok(_) => Err(StartError::NoDirectory { root }),
        Err(source) => Err(StartError::Root { root, source }),
    }
}

/// Marks the watcher as ended when the thread exits, even by a panic.
struct End {
    publisher: Arc<Publisher>,
    inbox: Arc<Inbox>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.inbox.end();
        self.publisher.end();
    }
}

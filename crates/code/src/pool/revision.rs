//! Revision of a worktree: its commit, and the number of change batches that its watcher saw. It delays no answer: the
//! watcher starts in the background.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::judgement::Revision;

/// The worktrees of earlier questions.
#[derive(Default)]
pub(super) struct Worktrees(Mutex<HashMap<PathBuf, Arc<Worktree>>>);

impl Worktrees {
    pub(super) fn entry(&self, root: &Path) -> Arc<Worktree> {
        let new = || Arc::new(Worktree { root: root.to_owned(), watcher: OnceCell::new() });
        self.0.lock().entry(root.to_owned()).or_insert_with(new).clone()
    }

    /// Stops all watchers.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}

pub(super) struct Worktree {
    root: PathBuf,
    watcher: OnceCell<::watch::Watcher>,
}

/// Maximum time that an answer waits for pending changes.
const SYNC: Duration = Duration::from_millis(100);

impl Worktree {
    /// Returns the watcher, started if necessary; `None` if the worktree cannot be watched.
    pub(super) async fn watcher(&self) -> Option<::watch::Watcher> {
        let options = ::watch::Options { ignored: vec!["/.hob/".to_owned()], ..::watch::Options::default() };
        match self.watcher.get_or_try_init(|| ::watch::Watcher::start(&self.root, options)).await {
            Ok(watcher) => Some(watcher.clone()),
            Err(error) => {
                tracing::warn!(%error, "a worktree is not watched");
                None
            }
        }
    }

    /// Returns the known revision. The watcher is started for the next question.
    pub(super) async fn revision(self: Arc<Worktree>) -> Revision {
        let commit = project::head_commit(&self.root);
        let Some(watcher) = self.watcher.get() else {
            tokio::spawn(async move { self.watcher().await });
            return Revision { commit, stamp: None };
        };
        let _ = tokio::time::timeout(SYNC, watcher.sync()).await;
        Revision { commit, stamp: Some(watcher.batches()) }
    }
}

//! Shares git queries among concurrent callers: each gets the result of a query that began after its call. Fetches are
//! serialized.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::git::{self, Git};
use crate::sources::Source;

/// The git queries in progress.
#[derive(Default)]
pub(crate) struct Looks(Mutex<HashMap<Key, Arc<Slot>>>);

/// The worktree, and the environment in which git runs.
type Key = (PathBuf, BTreeMap<String, String>);

#[derive(Default)]
struct Slot {
    /// Held by the task that queries git.
    turn: tokio::sync::Mutex<()>,
    /// The start time and the result of the last query.
    last: Mutex<Option<(Instant, Result<Git, Source>)>>,
}

impl Looks {
    /// Returns git's state of the worktree. Any number of concurrent callers causes at most two queries.
    pub(crate) async fn query(
        &self,
        worktree: PathBuf,
        env: &BTreeMap<String, String>,
        base: Option<&str>,
    ) -> Result<Git, Source> {
        let asked = Instant::now();
        let slot = {
            let mut slots = self.0.lock();
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
            slots.entry((worktree.clone(), env.clone())).or_default().clone()
        };
        let _turn = slot.turn.lock().await;
        if let Some((begun, found)) = &*slot.last.lock()
            && *begun >= asked
        {
            return found.clone();
        }
        let begun = Instant::now();
        let found = git::look_with_base(&worktree, env, base).await;
        *slot.last.lock() = Some((begun, found.clone()));
        found
    }
}

/// Serializes fetches per repository: two fetches would collide on git's locks.
#[derive(Default)]
pub(crate) struct Syncs(Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>);

impl Syncs {
    pub(crate) fn turn_for(&self, repository: &Path) -> Arc<tokio::sync::Mutex<()>> {
        let mut all = self.0.lock();
        all.retain(|_, turn| Arc::strong_count(turn) > 1);
        all.entry(repository.to_owned()).or_default().clone()
    }
}

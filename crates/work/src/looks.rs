//! Many who ask about one worktree at once share git's answers: each gets one that was begun after it asked. Fetches take turns.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::git::{self, Git};
use crate::sources::Source;

/// The looks that are under way.
#[derive(Default)]
pub(crate) struct Looks(Mutex<HashMap<Key, Arc<Slot>>>);

/// The worktree, and the environment in which git is asked.
type Key = (PathBuf, BTreeMap<String, String>);

#[derive(Default)]
struct Slot {
    /// Held by the one that asks git.
    turn: tokio::sync::Mutex<()>,
    /// When the last look was begun, and what it found.
    last: Mutex<Option<(Instant, Result<Git, Source>)>>,
}

impl Looks {
    /// What git says of the worktree now. However many ask, two looks at most are behind what they get.
    pub(crate) async fn look(
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

/// One fetch at a time for each repository: two would meet each other's locks.
#[derive(Default)]
pub(crate) struct Syncs(Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>);

impl Syncs {
    pub(crate) fn of(&self, repository: &Path) -> Arc<tokio::sync::Mutex<()>> {
        let mut all = self.0.lock();
        all.retain(|_, turn| Arc::strong_count(turn) > 1);
        all.entry(repository.to_owned()).or_default().clone()
    }
}

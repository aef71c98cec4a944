//! A worktree as it changes: its watcher, how many batches of changes that has seen, and how many files git finds changed.
//! Nothing here makes an answer wait: the watcher starts, and git counts, beside it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use process::{Bounds, Guard, Spec};
use tokio::sync::OnceCell;

use crate::judgement::Revision;

/// The worktrees that were asked about.
#[derive(Default)]
pub(super) struct Worktrees(Mutex<HashMap<PathBuf, Arc<Worktree>>>);

impl Worktrees {
    pub(super) fn of(&self, root: &Path) -> Arc<Worktree> {
        let new = || Arc::new(Worktree { root: root.to_owned(), watcher: OnceCell::new(), counted: Mutex::default() });
        self.0.lock().entry(root.to_owned()).or_insert_with(new).clone()
    }

    /// Ends all watchers.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}

pub(super) struct Worktree {
    root: PathBuf,
    watcher: OnceCell<::watch::Watcher>,
    counted: Mutex<Counted>,
}

/// What git counted, and when.
#[derive(Debug, Default)]
struct Counted {
    at: Option<At>,
    files: Option<u64>,
    is_counting: bool,
}

/// What a count holds for: a number of batches, and a commit.
type At = (u64, String);

/// How long an answer waits for changes that are not known yet.
const SYNC: Duration = Duration::from_millis(100);
/// What git may take.
const BOUNDS: Bounds = Bounds { deadline: Duration::from_secs(10), stdout: 64 << 20, stderr: 4096 };

impl Worktree {
    /// Its watcher, which is started if there is none; `None` if it cannot be watched.
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

    /// What is known of its revision now. What is not known is looked up for the next question.
    pub(super) async fn revision(self: Arc<Worktree>, env: &BTreeMap<String, String>) -> Revision {
        let commit = project::head_commit(&self.root);
        let Some(watcher) = self.watcher.get() else {
            tokio::spawn(async move { self.watcher().await });
            return Revision { commit, changed: None, stamp: None };
        };
        let _ = tokio::time::timeout(SYNC, watcher.sync()).await;
        let stamp = watcher.batches();
        let changed = commit.as_ref().and_then(|commit| {
            let at = (stamp, commit.clone());
            let mut counted = self.counted.lock();
            if counted.at.as_ref() == Some(&at) {
                return counted.files;
            }
            if !counted.is_counting {
                counted.is_counting = true;
                tokio::spawn(self.clone().count(at, env.clone()));
            }
            None
        });
        Revision { commit, changed, stamp: Some(stamp) }
    }

    /// Has git count.
    async fn count(self: Arc<Worktree>, at: At, env: BTreeMap<String, String>) {
        let files = changed(&self.root, &env).await;
        let is_still = match self.watcher.get() {
            Some(watcher) => watcher.sync().await.is_ok() && watcher.batches() == at.0,
            None => false,
        };
        let is_still = is_still && project::head_commit(&self.root).as_ref() == Some(&at.1);
        let mut counted = self.counted.lock();
        counted.is_counting = false;
        if is_still {
            (counted.at, counted.files) = (Some(at), files);
        }
    }
}

/// Settings that win over those of the repository: each could name a program.
const HARMLESS: &[&str] = &["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.untrackedCache=keep"];

/// How many files differ from the commit, those that git does not know yet among them.
async fn changed(root: &Path, env: &BTreeMap<String, String>) -> Option<u64> {
    // Filters that the repository itself defines do not run for a question.
    let named = ["config", "-z", "--show-scope", "--name-only", "--get-regexp", "^filter\\."];
    let named = git(root, env, &[], &named).await.unwrap_or_default();
    let filters = own_filters(&named);
    let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all"];
    let said = git(root, env, &filters, &status).await?;
    Some(said.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).count() as u64)
}

/// The filters of a list of scopes and names, but those of the user and of the system.
fn own_filters(listed: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(listed);
    let words: Vec<&str> = text.split('\0').collect();
    let mut filters: Vec<String> = words
        .chunks_exact(2)
        .filter(|pair| !matches!(pair[0], "system" | "global"))
        .filter_map(|pair| Some(pair[1].strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned()))
        .collect();
    filters.dedup();
    filters
}

async fn git(root: &Path, env: &BTreeMap<String, String>, filters: &[String], args: &[&str]) -> Option<Vec<u8>> {
    let mut words: Vec<OsString> = vec!["--no-optional-locks".into()];
    let filters = filters
        .iter()
        .flat_map(|name| ["clean=", "process=", "required=false"].map(|rest| format!("filter.{name}.{rest}")));
    for setting in HARMLESS.iter().map(|setting| (*setting).to_owned()).chain(filters) {
        words.extend(["-c".into(), setting.into()]);
    }
    words.extend(args.iter().map(Into::into));
    let env = env.iter().filter(|(name, _)| !name.starts_with("GIT_"));
    let mut spec = Spec::new("git", root).args(words).env(env).env([("LC_ALL", "C"), ("GIT_OPTIONAL_LOCKS", "0")]);
    spec.guard = Guard::Without;
    let answer = spec.answer(BOUNDS).await.ok()?;
    answer.exit.success().then_some(answer.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_the_repository_are_told_from_the_users() {
        let listed = b"global\0filter.lfs.clean\0local\0filter.mine.clean\0local\0filter.mine.smudge\0worktree\0filter.a.b.process\0";
        assert_eq!(own_filters(listed), ["mine", "a.b"]);
        assert_eq!(own_filters(b""), [""; 0]);
    }
}

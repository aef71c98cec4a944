//! Revision of a worktree: its watcher, the number of change batches, and the number of files that git finds changed.
//! It delays no answer: the watcher starts, and git counts, in the background.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use process::{Bounds, Guard, Spec};
use project::{GitPlaces, GitView, Purpose};
use tokio::sync::OnceCell;

use crate::judgement::Revision;

/// The worktrees of earlier questions.
#[derive(Default)]
pub(super) struct Worktrees(Mutex<HashMap<PathBuf, Arc<Worktree>>>);

impl Worktrees {
    pub(super) fn entry(&self, root: &Path) -> Arc<Worktree> {
        let new = || Arc::new(Worktree { root: root.to_owned(), watcher: OnceCell::new(), counted: Mutex::default() });
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
    counted: Mutex<Counted>,
}

/// The last count by git, and its time.
#[derive(Debug, Default)]
struct Counted {
    at: Option<At>,
    files: Option<u64>,
    is_counting: bool,
}

/// State to which a count applies: number of batches, and commit.
type At = (u64, String);

/// Maximum time that an answer waits for pending changes.
const SYNC: Duration = Duration::from_millis(100);
/// Limits of a git command.
const BOUNDS: Bounds = Bounds { deadline: Duration::from_secs(10), stdout: 64 << 20, stderr: 4096 };

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

    /// Returns the known revision. Missing parts are computed for the next question.
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

    /// Runs git to count the changed files.
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

/// Counts the files that differ from the commit, including untracked ones.
async fn changed(root: &Path, env: &BTreeMap<String, String>) -> Option<u64> {
    let places = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel"];
    let finding = [("LC_ALL", "C"), ("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1")];
    let (places, config) = tokio::join!(
        git(root, env, finding, &places),
        git(root, env, finding, &["config", "--list", "--show-scope", "-z"]),
    );
    let (places, config) = (places?, config?);
    let mut lines = places.split(|byte| *byte == b'\n').map(|line| Path::new(OsStr::from_bytes(line)));
    let (git_dir, common_dir, work_tree) = (lines.next()?, lines.next()?, lines.next()?);
    let places = GitPlaces { git_dir, common_dir, work_tree };
    let view = GitView::new(places, &config, Purpose::Question).ok()?;
    let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all"];
    let said = git(root, env, view.env(), &status).await?;
    Some(said.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).count() as u64)
}

async fn git(
    root: &Path,
    env: &BTreeMap<String, String>,
    own: impl IntoIterator<Item = (&str, impl Into<OsString>)>,
    args: &[&str],
) -> Option<Vec<u8>> {
    let words = ["--no-optional-locks"].iter().chain(args);
    let env = env.iter().filter(|(name, _)| !name.starts_with("GIT_"));
    let mut spec = Spec::new("git", root).args(words).env(env).env(own);
    spec.guard = Guard::Without;
    let answer = spec.answer(BOUNDS).await.ok()?;
    answer.exit.success().then_some(answer.stdout)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn counting_runs_no_filter_of_the_repository() {
        if !testkit::has_program("git") {
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&root).unwrap();
        let evil = temp.path().join("evil");
        std::fs::write(&evil, "#!/bin/sh\ntouch \"$0.ran\"\n").unwrap();
        std::fs::set_permissions(&evil, PermissionsExt::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let env = BTreeMap::from([
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), temp.path().display().to_string()),
            ("EVIL".to_owned(), evil.display().to_string()),
        ]);
        let script = "git init -q; echo 1 > a; echo 2 > b; git add a b; git -c user.name=x -c user.email=x@x commit -qm x; \
            git config filter.a=b.clean $EVIL; git config core.fsmonitor $EVIL; echo '* filter=a=b' > .git/info/attributes; \
            touch -d @1 a; echo 3 > b; rm -f $EVIL.ran";
        let mut sh = std::process::Command::new("sh");
        assert!(sh.args(["-ec", script]).current_dir(&root).env_clear().envs(&env).status().unwrap().success());
        assert_eq!(changed(&root, &env).await, Some(1));
        assert!(!temp.path().join("evil.ran").exists());
    }
}

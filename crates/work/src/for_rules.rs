//! What rules of policies may ask of a worktree, in single words. It comes from a look that is at most two seconds old, or
//! from a new one, if that is quick enough. What is not known, or is not the case for a branch, an operation or the like, is
//! absent; of yes and no, `true` and `false`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use project::Caller;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::gather::Work;
use crate::git::Git;
use crate::standing::{Sections, Standing};

/// The facts there are.
pub const NAMES: &[&str] = &[
    "work.branch",
    "work.base",
    "work.upstream",
    "work.detached",
    "work.dirty",
    "work.unpushed",
    "work.operation",
    "work.pull.checks",
    "work.issue",
    "work.issue.status",
];

/// How old what git said may be.
const OLDEST: Duration = Duration::from_secs(2);
/// How long a new look may take.
const WAIT: Duration = Duration::from_millis(50);
/// How old a pull request or an issue may be: nobody asks a network for a rule.
const OLDEST_ELSEWHERE: Duration = Duration::from_secs(300);
/// How many worktrees are remembered.
const REMEMBERED: usize = 64;

/// What is known of the worktrees.
#[derive(Default)]
pub(crate) struct Facts(Mutex<HashMap<PathBuf, Known>>);

struct Known {
    /// The environment of who asked last.
    env: Arc<BTreeMap<String, String>>,
    git: Option<(BTreeMap<&'static str, String>, Instant)>,
    branch: Option<String>,
    checks: Option<(String, Instant)>,
    /// Its id and status.
    issue: Option<((String, String), Instant)>,
    /// A look that is under way.
    running: Option<watch::Receiver<bool>>,
}

impl Facts {
    /// Takes over what was just found.
    pub(crate) fn learn(&self, caller: &Caller, standing: &Standing, sections: Sections) {
        let mut all = self.0.lock();
        make_room(&mut all, &caller.worktree);
        let known = all.entry(caller.worktree.clone()).or_insert_with(|| Known::new(Arc::default()));
        if *known.env != caller.env {
            known.env = Arc::new(caller.env.clone());
        }
        known.looked(standing.git.as_ref().ok());
        let now = Instant::now();
        if sections.pull {
            let checks = standing.pull.as_ref().and_then(|pull| pull.checks.as_ref());
            known.checks = checks.map(|checks| (checks.word().to_owned(), now));
        }
        if sections.issue {
            known.issue = standing.issue.as_ref().map(|issue| ((issue.id.clone(), issue.status.clone()), now));
        }
    }
}

impl Known {
    fn new(env: Arc<BTreeMap<String, String>>) -> Known {
        Known { env, git: None, branch: None, checks: None, issue: None, running: None }
    }

    fn looked(&mut self, git: Option<&Git>) {
        let branch = git.and_then(|git| git.branch.clone());
        if self.branch != branch {
            // They were the other branch's.
            (self.checks, self.issue) = (None, None);
            self.branch = branch;
        }
        self.git = git.map(|git| (of_git(git), Instant::now()));
    }

    fn fact(&self, name: &str) -> Option<String> {
        let issue = self.issue.as_ref().filter(|(_, at)| at.elapsed() < OLDEST_ELSEWHERE).map(|(issue, _)| issue);
        match name {
            "work.pull.checks" => {
                self.checks.as_ref().filter(|(_, at)| at.elapsed() < OLDEST_ELSEWHERE).map(|(checks, _)| checks.clone())
            }
            "work.issue" => issue.map(|(id, _)| id.clone()),
            "work.issue.status" => issue.map(|(_, status)| status.clone()),
            name => self.git.as_ref().and_then(|(facts, _)| facts.get(name).cloned()),
        }
    }

    fn is_fresh(&self) -> bool {
        self.git.as_ref().is_some_and(|(_, at)| at.elapsed() < OLDEST)
    }
}

fn of_git(git: &Git) -> BTreeMap<&'static str, String> {
    let operation = git.operation.as_ref().map(|operation| operation.kind.word().to_owned());
    let facts = [
        ("work.branch", git.branch.clone()),
        ("work.base", git.base.clone()),
        ("work.upstream", git.upstream.clone()),
        ("work.detached", Some(git.detached.to_string())),
        ("work.dirty", Some((git.files > 0).to_string())),
        ("work.unpushed", git.unpushed.map(|count| (count > 0).to_string())),
        ("work.operation", operation),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

impl Work {
    /// A fact about a worktree; `None` if it is not known, or not soon enough. `env` finds git where nobody has asked about
    /// the worktree yet. Waits at most 50 ms.
    pub async fn fact(
        self: &Arc<Self>,
        name: &str,
        worktree: &Path,
        env: impl FnOnce() -> BTreeMap<String, String>,
    ) -> Option<String> {
        if !NAMES.contains(&name) {
            return None;
        }
        let mut running = {
            let mut all = self.facts.0.lock();
            make_room(&mut all, worktree);
            let known = all.entry(worktree.to_owned()).or_insert_with(|| Known::new(Arc::new(env())));
            if known.is_fresh() {
                return known.fact(name);
            }
            match known.running.as_ref().filter(|running| running.has_changed().is_ok()) {
                Some(running) => running.clone(),
                None => {
                    let (done, running) = watch::channel(false);
                    known.running = Some(running.clone());
                    tokio::spawn(self.clone().look_for_facts(worktree.to_owned(), known.env.clone(), done));
                    running
                }
            }
        };
        timeout(WAIT, running.wait_for(|done| *done)).await.ok()?.ok()?;
        let all = self.facts.0.lock();
        all.get(worktree).filter(|known| known.is_fresh()).and_then(|known| known.fact(name))
    }

    async fn look_for_facts(
        self: Arc<Self>,
        worktree: PathBuf,
        env: Arc<BTreeMap<String, String>>,
        done: watch::Sender<bool>,
    ) {
        let git = self.looks.look(worktree.clone(), &env, self.settings.base.as_deref()).await;
        if let Some(known) = self.facts.0.lock().get_mut(&worktree) {
            known.running = None;
            known.looked(git.as_ref().ok());
        }
        let _ = done.send(true);
    }
}

fn make_room(all: &mut HashMap<PathBuf, Known>, worktree: &Path) {
    if all.len() >= REMEMBERED && !all.contains_key(worktree) {
        all.retain(|_, known| known.running.is_some() || known.is_fresh());
    }
}

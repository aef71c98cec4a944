//! Facts about a worktree for policy rules, each a single word. They come from a git query at most two seconds old, or from
//! a new one if it finishes in time. An unknown or inapplicable fact is absent; a boolean fact is `true` or `false`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use project::dashboard::WorkRow;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::git::{self, Git};
use crate::shared_queries::Looks;

/// The maximum age of git's state.
const OLDEST: Duration = Duration::from_secs(2);
/// The timeout of a new git query.
const WAIT: Duration = Duration::from_millis(50);
/// The maximum age of git's state in the rows of faces.
const OLDEST_IN_ROWS: Duration = Duration::from_secs(10);
/// The maximum age of a pull request or an issue. Rules never wait for the network.
const OLDEST_ELSEWHERE: Duration = Duration::from_secs(300);
/// The number of worktrees that are remembered.
const REMEMBERED: usize = 64;

/// The cached facts of each worktree.
#[derive(Default)]
pub(crate) struct Facts(Mutex<HashMap<PathBuf, CachedFacts>>);

struct CachedFacts {
    /// The environment of the last caller.
    env: Arc<BTreeMap<String, String>>,
    git: Option<(BTreeMap<&'static str, String>, Instant)>,
    branch: Option<String>,
    checks: Option<(String, Instant)>,
    /// The issue's id and status, with the time at which they were learned.
    issue: Option<((String, String), Instant)>,
    /// The end of the last query, also of one that failed.
    looked: Option<Instant>,
    /// A git query in progress.
    running: Option<watch::Receiver<bool>>,
}

impl Facts {
    /// Stores new results. `checks` or `issue` is `None` if the call did not ask for it.
    pub(crate) fn learn(
        &self,
        worktree: &Path,
        env: &BTreeMap<String, String>,
        git: Option<&Git>,
        checks: Option<Option<String>>,
        issue: Option<Option<(String, String)>>,
    ) {
        let mut all = self.0.lock();
        make_room(&mut all, worktree);
        let known = all.entry(worktree.to_owned()).or_insert_with(|| CachedFacts::new(Arc::default()));
        if *known.env != *env {
            known.env = Arc::new(env.clone());
        }
        known.looked(git);
        let now = Instant::now();
        if let Some(checks) = checks {
            known.checks = checks.map(|checks| (checks, now));
        }
        if let Some(issue) = issue {
            known.issue = issue.map(|issue| (issue, now));
        }
    }

    /// Returns the rows of these worktrees, and of those with cached facts, as last known. Git is asked in the background.
    pub(crate) fn rows(
        self: &Arc<Self>,
        worktrees: Vec<PathBuf>,
        env: impl Fn() -> BTreeMap<String, String>,
        looks: &Arc<Looks>,
        base: Option<&str>,
    ) -> Vec<WorkRow> {
        let mut all = self.0.lock();
        for worktree in worktrees {
            make_room(&mut all, &worktree);
            let known = all.entry(worktree.clone()).or_insert_with(|| CachedFacts::new(Arc::new(env())));
            if !known.is_younger_than(OLDEST_IN_ROWS) {
                self.start_look(known, &worktree, looks, base);
            }
        }
        let mut rows: Vec<WorkRow> = all.iter().map(|(worktree, known)| known.row(worktree)).collect();
        rows.sort_by(|one, other| one.worktree.cmp(&other.worktree));
        rows
    }

    /// See [`crate::Work::fact`].
    pub(crate) async fn fact(
        self: &Arc<Self>,
        name: &str,
        worktree: &Path,
        env: impl FnOnce() -> BTreeMap<String, String>,
        looks: &Arc<Looks>,
        base: Option<&str>,
    ) -> Option<String> {
        // Git is not run for the facts of others.
        name.strip_prefix("work.")?;
        if name == "work.branch"
            && let Some(branch) = branch(worktree)
        {
            return Some(branch);
        }
        let mut running = {
            let mut all = self.0.lock();
            make_room(&mut all, worktree);
            let known = all.entry(worktree.to_owned()).or_insert_with(|| CachedFacts::new(Arc::new(env())));
            if known.is_fresh() {
                return known.fact(name);
            }
            self.start_look(known, worktree, looks, base)
        };
        timeout(WAIT, running.wait_for(|done| *done)).await.ok()?.ok()?;
        let all = self.0.lock();
        all.get(worktree).filter(|known| known.is_fresh()).and_then(|known| known.fact(name))
    }

    /// Queries git in the background, unless a query is in progress. The receiver becomes true when it is done.
    fn start_look(
        self: &Arc<Self>,
        known: &mut CachedFacts,
        worktree: &Path,
        looks: &Arc<Looks>,
        base: Option<&str>,
    ) -> watch::Receiver<bool> {
        if let Some(running) = known.running.as_ref().filter(|running| running.has_changed().is_ok()) {
            return running.clone();
        }
        let (done, running) = watch::channel(false);
        known.running = Some(running.clone());
        let (facts, looks, env) = (self.clone(), looks.clone(), known.env.clone());
        let (worktree, base) = (worktree.to_owned(), base.map(str::to_owned));
        tokio::spawn(async move {
            let git = looks.query(worktree.clone(), &env, base.as_deref()).await;
            if let Some(known) = facts.0.lock().get_mut(&worktree) {
                known.running = None;
                known.looked(git.as_ref().ok());
            }
            let _ = done.send(true);
        });
        running
    }
}

impl CachedFacts {
    fn new(env: Arc<BTreeMap<String, String>>) -> CachedFacts {
        CachedFacts { env, git: None, branch: None, checks: None, issue: None, looked: None, running: None }
    }

    fn looked(&mut self, git: Option<&Git>) {
        let branch = git.and_then(Git::work_branch).map(str::to_owned);
        if self.branch != branch {
            // The cached values belong to the previous branch.
            (self.checks, self.issue) = (None, None);
            self.branch = branch;
        }
        self.git = git.map(|git| (of_git(git), Instant::now()));
        self.looked = Some(Instant::now());
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

    fn row(&self, worktree: &Path) -> WorkRow {
        let fact = |name: &str| self.git.as_ref().and_then(|(facts, _)| facts.get(name));
        let has = |name: &str| fact(name).is_some_and(|value| value == "true");
        let unfinished = [
            has("work.dirty").then(|| "changed files".to_owned()),
            has("work.unpushed").then(|| "commits that are not pushed".to_owned()),
            fact("work.operation").map(|operation| format!("a {operation} in progress")),
        ];
        WorkRow {
            worktree: worktree.to_string_lossy().into_owned(),
            branch: branch(worktree).or_else(|| self.branch.clone()).unwrap_or_else(|| "no branch".to_owned()),
            unfinished: unfinished.into_iter().flatten().collect::<Vec<_>>().join(", "),
            agents: Vec::new(),
            pull_request: None,
            issue: self.issue.as_ref().map(|((id, status), _)| format!("issue {id}: {status}")),
            checks: self.checks.as_ref().map(|(checks, _)| checks.clone()),
        }
    }

    fn is_younger_than(&self, age: Duration) -> bool {
        self.looked.is_some_and(|at| at.elapsed() < age)
    }

    fn is_fresh(&self) -> bool {
        self.git.as_ref().is_some_and(|(_, at)| at.elapsed() < OLDEST)
    }
}

/// Queries git now and returns the facts, without the cache. Returns an empty map if git fails.
pub async fn query_facts(worktree: &Path, env: &BTreeMap<String, String>) -> BTreeMap<&'static str, String> {
    git::query(worktree, env).await.as_ref().map(of_git).unwrap_or_default()
}

/// Reads the checked-out branch from git's own file, without running git; `None` if none is checked out.
pub fn branch(worktree: &Path) -> Option<String> {
    const FILE_MAX: u64 = 4096;
    let dot_git = worktree.join(".git");
    let git_dir = match project::regular::read(&dot_git, FILE_MAX) {
        // This is a linked worktree.
        Ok(text) => worktree.join(text.trim().strip_prefix("gitdir: ")?),
        Err(_) => dot_git,
    };
    let head = project::regular::read(&git_dir.join("HEAD"), FILE_MAX).ok()?;
    Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned())
}

fn of_git(git: &Git) -> BTreeMap<&'static str, String> {
    let operation = git.operation.as_ref().map(|operation| operation.kind.word().to_owned());
    let facts = [
        ("work.branch", git.work_branch().map(str::to_owned)),
        ("work.base", git.base.clone()),
        ("work.upstream", git.upstream.clone()),
        ("work.detached", Some(git.detached.to_string())),
        ("work.dirty", Some((git.files > 0).to_string())),
        ("work.unpushed", git.unpushed.map(|count| (count > 0).to_string())),
        ("work.operation", operation),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn make_room(all: &mut HashMap<PathBuf, CachedFacts>, worktree: &Path) {
    if all.len() >= REMEMBERED && !all.contains_key(worktree) {
        all.retain(|_, known| known.running.is_some() || known.is_fresh());
    }
}

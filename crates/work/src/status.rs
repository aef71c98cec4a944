//! Collects git, pull request and issue status concurrently, each with its source.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use project::{Caller, Role};
use tokio::task::JoinSet;

use crate::changes::{Asker, Changed, Snapshot, differences};
use crate::gh::Gh;
use crate::git::{self, Git, Worktree, source_of};
use crate::network_cache::Wish;
use crate::pull::{Pull, PullState};
use crate::sources::{Source, State};
use crate::state::Work;
use crate::tracker::{Issue, Question};

/// The environment variable that names the agent's issue.
const ISSUE: &str = "HOB_ISSUE";
/// The maximum number of worktrees whose git state is read.
const LOOKED_INTO: usize = 40;

/// The sections requested in addition to git.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sections {
    pub pull: bool,
    pub issue: bool,
    pub worktrees: bool,
}

pub(crate) struct StatusQuery<'a> {
    pub sections: Sections,
    /// The id of an issue.
    pub issue: Option<&'a str>,
    pub wish: Wish,
    /// If true, the next call reports changes since this one.
    pub is_a_call: bool,
}

/// The collected status. `sources` explains missing parts.
#[derive(Debug)]
pub(crate) struct Status {
    pub git: Result<Git, Source>,
    pub pull: Option<Pull>,
    pub issue: Option<Issue>,
    /// Issues that are ready to start, if the branch names no issue.
    pub ready: Vec<Issue>,
    pub worktrees: Option<Vec<Worktree>>,
    pub sources: BTreeMap<&'static str, Source>,
    pub changed: Vec<Changed>,
}

impl Work {
    /// Collects the requested parts, within the caller's timeout.
    pub(crate) async fn collect_status(&self, caller: &Caller, wanted: StatusQuery<'_>) -> Status {
        let begun = Instant::now();
        let mut git = self.query_git(caller).await;
        let gh = Gh { directory: caller.worktree.clone(), env: caller.env.clone() };
        let root = git.as_ref().map_or_else(|_| caller.worktree.clone(), |git| git.root.clone());
        let of_pull = async {
            match (&git, wanted.sections.pull) {
                (_, false) => (None, None),
                (Ok(git), true) if !git.bare => {
                    let (pull, source) = self.pulls.get(git, &gh, wanted.wish).await;
                    (pull, Some(source))
                }
                _ => (None, Some(Source::missing(State::Absent, "this is not a git worktree", None))),
            }
        };
        let of_issue = async {
            if !wanted.sections.issue && wanted.issue.is_none() {
                return None;
            }
            let question = Question {
                root,
                id: wanted.issue,
                variable: caller.asked_env.get(ISSUE).map(String::as_str),
                git: git.as_ref().ok().filter(|git| !git.bare),
                patterns: &self.settings.branches,
                gh: &gh,
                wish: wanted.wish,
            };
            Some(self.trackers.issue(question).await)
        };
        let of_worktrees =
            async { if wanted.sections.worktrees { Some(self.worktrees(caller, &gh).await) } else { None } };
        let ((pull, of_pull), issue, worktrees) = tokio::join!(of_pull, of_issue, of_worktrees);
        let mut sources = BTreeMap::from([("git", source_of(&git))]);
        let issue = match (issue, &pull, &of_pull) {
            (Some(issue), Some(pull), Some(source)) => Some(issue.or_closed_by(pull.number, &pull.closes, source)),
            (issue, ..) => issue,
        };
        if let (Ok(git), Some(pull)) = (&mut git, pull.as_ref().filter(|pull| pull.state == PullState::Open)) {
            git::rebase_on(git, &caller.worktree, &caller.env, &pull.base).await;
        }
        sources.extend(of_pull.map(|source| ("pull", source)));
        sources.extend(issue.as_ref().map(|issue| ("issue", issue.source.clone())));
        let worktrees = worktrees.and_then(|found| {
            sources.insert("worktrees", found.as_ref().map_or_else(Source::clone, |(_, source)| source.clone()));
            found.ok().map(|(worktrees, _)| worktrees)
        });
        let (issue, ready) = issue.map_or_else(Default::default, |issue| (issue.issue, issue.ready));
        let mut standing = Status { git, pull, issue, ready, worktrees, sources, changed: Vec::new() };
        if wanted.is_a_call {
            standing.changed = self.changed(caller, &standing).await;
        }
        let of_git = standing.git.as_ref().ok();
        let checks = standing.pull.as_ref().and_then(|pull| Some(pull.checks.as_ref()?.word().to_owned()));
        let issue = standing.issue.as_ref().map(|issue| (issue.id.clone(), issue.status.clone()));
        let (checks, issue) = (wanted.sections.pull.then_some(checks), wanted.sections.issue.then_some(issue));
        self.facts.learn(&caller.worktree, &caller.env, of_git, checks, issue);
        tracing::debug!(took = ?begun.elapsed(), "state of the work");
        standing
    }

    /// Returns the changes since this caller's last call.
    async fn changed(&self, caller: &Caller, standing: &Status) -> Vec<Changed> {
        let who = match (&caller.run, caller.role) {
            (Some(run), _) => run.clone(),
            (None, Role::Mcp) => format!("connection {}", caller.connection),
            // Each command has a separate connection, hence no last call.
            (None, Role::Control) => return Vec::new(),
        };
        let git = standing.git.as_ref().ok();
        let branch = git.and_then(Git::work_branch).map(str::to_owned);
        let asker = Asker { who, worktree: caller.worktree.clone(), branch };
        let is_known = |part: &str| {
            let known = [State::Ok, State::Stale, State::Absent];
            standing.sources.get(part).is_some_and(|source| known.contains(&source.state))
        };
        let now = Snapshot {
            base: git.and_then(|git| git.base.clone().zip(git.base_commit.clone())),
            pull: is_known("pull").then(|| standing.pull.clone()),
            issue: is_known("issue").then(|| standing.issue.clone()),
        };
        let Some(then) = self.last_calls.replace(asker, &now) else { return Vec::new() };
        let news = match (git, &then.base, &now.base) {
            (Some(git), Some((before, then)), Some((name, commit))) if before == name && then != commit => {
                git::since(git, then, &caller.env).await
            }
            _ => None,
        };
        differences(&then, &now, news.as_ref())
    }

    /// Lists the worktrees of the caller's repository, with git's state, agents and the cached pull request.
    async fn worktrees(&self, caller: &Caller, gh: &Gh) -> Result<(Vec<Worktree>, Source), Source> {
        let mut worktrees = git::worktrees(&caller.worktree, &caller.env).await?;
        let mut looks = JoinSet::new();
        let is_there = |worktree: &Worktree| !worktree.bare && !worktree.prunable;
        let there = worktrees.iter().enumerate().filter(|(_, worktree)| is_there(worktree));
        for (index, worktree) in there.take(LOOKED_INTO) {
            let (path, env, base) = (worktree.path.clone(), caller.env.clone(), self.settings.base.clone());
            looks.spawn(async move { (index, git::look_with_base(&path, &env, base.as_deref()).await) });
        }
        let more = worktrees.iter().filter(|worktree| is_there(worktree)).count().saturating_sub(LOOKED_INTO);
        while let Some(looked) = looks.join_next().await {
            let Ok((index, Ok(git))) = looked else { continue };
            let worktree = &mut worktrees[index];
            worktree.head_at = git.head_at;
            worktree.changed = Some(git.files);
            worktree.unpushed = git.unpushed;
            worktree.pull = self.pulls.peek(&git, gh).map(|pull| format!("#{} {}", pull.number, pull.state.word()));
        }
        for worktree in &mut worktrees {
            worktree.agents = self.agents_in(&worktree.path);
        }
        let source = match more {
            0 => Source::ok(),
            more => Source { detail: Some(format!("{more} more were not checked")), ..Source::ok() },
        };
        Ok((worktrees, source))
    }

    fn agents_in(&self, worktree: &Path) -> Vec<crate::other_parts::Agent> {
        (self.around.agents)(worktree)
    }
}

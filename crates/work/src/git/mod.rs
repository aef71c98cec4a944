//! The git state of a worktree: one `status --porcelain=v2` and a few small queries.
//!
//! `porcelain.rs` parses git's formats, `operation.rs` finds an operation in progress, `base.rs` the base branch, and
//! `remote.rs` the push target.

mod base;
mod operation;
pub mod porcelain;
pub(crate) mod remote;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

pub use operation::{Operation, OperationKind};
pub use porcelain::{Change, ChangeKind};

use crate::other_parts::Agent;
use crate::run::{NoAnswer, Reader, Runner};
use crate::sources::{Source, State};

/// The limit of the list of changed files. Their number is always complete.
pub const CHANGES_MAX: usize = 200;
/// The limit for counting unpushed commits.
const UNPUSHED_MAX: u32 = 1000;

/// The state of a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Git {
    /// The worktree's directory.
    pub root: PathBuf,
    /// The branch; null if HEAD is detached.
    pub branch: Option<String>,
    /// The commit; null before the first.
    pub head: Option<String>,
    /// The first line of the commit message.
    pub subject: Option<String>,
    /// The time of the commit, in seconds since 1970.
    pub head_at: Option<u64>,
    /// The upstream branch.
    pub upstream: Option<String>,
    /// Commits that only this branch has, and commits that only the upstream has.
    pub ahead: Option<u64>,
    pub behind: Option<u64>,
    /// The base branch, which the work will be merged into.
    pub base: Option<String>,
    /// Commits that only this branch has, and commits that only the base has.
    pub ahead_of_base: Option<u64>,
    pub behind_base: Option<u64>,
    /// Commits on no remote branch. Null without a remote, or if there are more than 1000.
    pub unpushed: Option<u64>,
    pub detached: bool,
    /// A rebase, merge or similar operation in progress.
    pub operation: Option<Operation>,
    pub stashes: u64,
    /// The numbers of files with staged changes, unstaged changes, conflicts, and of untracked files.
    pub staged: u64,
    pub unstaged: u64,
    pub conflicted: u64,
    pub untracked: u64,
    /// The number of changed files in total.
    pub files: u64,
    /// The changed files, conflicts first; at most 200.
    pub changes: Vec<Change>,
    pub bare: bool,
    pub shallow: bool,
    /// The base's commit.
    #[serde(skip)]
    pub base_commit: Option<String>,
    /// The branch's push target.
    #[serde(skip)]
    pub(crate) pushed: Option<remote::Pushed>,
    #[serde(skip)]
    pub(crate) common_dir: PathBuf,
    /// True for a linked worktree, false for the repository's main one.
    #[serde(skip)]
    pub(crate) linked: bool,
}

/// A worktree of the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Worktree {
    pub path: PathBuf,
    pub branch: Option<String>,
    pub head: Option<String>,
    pub bare: bool,
    /// The reason of its lock; empty if no reason was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<String>,
    /// True if its directory is missing.
    pub prunable: bool,
    /// The time of its commit, in seconds since 1970.
    pub head_at: Option<u64>,
    /// The number of changed files, and of commits on no remote branch.
    pub changed: Option<u64>,
    pub unpushed: Option<u64>,
    /// The agents that work in it.
    pub agents: Vec<Agent>,
    /// Its pull request, if it is cached.
    pub pull: Option<String>,
}

impl Git {
    /// Returns the branch of the work: HEAD's branch, or the one on which a rebase or bisect began.
    pub fn work_branch(&self) -> Option<&str> {
        let operation = || self.operation.as_ref()?.branch.as_deref();
        self.branch.as_deref().or_else(operation)
    }
}

/// Queries git about a directory.
///
/// # Errors
/// Returns the reason why git has no answer, and the fix.
pub async fn query(directory: &Path, env: &BTreeMap<String, String>) -> Result<Git, Source> {
    look_with_base(directory, env, None).await
}

/// Like [`query`], with `base` as the base branch if it exists.
pub(crate) async fn look_with_base(
    directory: &Path,
    env: &BTreeMap<String, String>,
    base: Option<&str>,
) -> Result<Git, Source> {
    let asked = Runner { directory, env };
    look_with(asked, base).await.map_err(|NoAnswer(source)| source)
}

/// The commits on the base since a note was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    pub count: u64,
    /// The subjects of the latest commits.
    pub subjects: Vec<String>,
}

/// The git option that limits the number of subjects.
const NAMED: &str = "--max-count=3";

/// Returns the commits on the base since `then`.
pub(crate) async fn since(git: &Git, then: &str, env: &BTreeMap<String, String>) -> Option<Since> {
    // The value comes from a file and goes to a command line, so only a hash is accepted.
    let then = then.chars().all(|c| c.is_ascii_hexdigit()).then_some(then)?;
    let range = format!("{then}..{}", git.base_commit.as_deref()?);
    let asked = Runner { directory: &git.root, env };
    let asked = asked.reader(&asked.repository().await.ok()?).ok()?;
    let count = ["rev-list", "--count", &range, "--"];
    let subjects = ["log", NAMED, "--no-show-signature", "--format=%s", &range, "--"];
    let (count, subjects) = tokio::join!(asked.git(&count), asked.git(&subjects));
    let subjects = text(&subjects.ok()?).lines().map(str::to_owned).collect();
    Some(Since { count: text(&count.ok()?).trim().parse().ok()?, subjects })
}

/// Recomputes the comparison with the base of a pull request, if that branch exists here.
pub(crate) async fn rebase_on(git: &mut Git, directory: &Path, env: &BTreeMap<String, String>, base: &str) {
    let Some(remote) = git.pushed.as_ref().map(|pushed| pushed.remote.clone()) else { return };
    let of_base = git.base.as_deref().and_then(|known| known.split_once('/')).map(|(remote, _)| remote.to_owned());
    let asked = Runner { directory, env };
    let Ok(repository) = asked.repository().await else { return };
    let Ok(asked) = asked.reader(&repository) else { return };
    for remote in of_base.into_iter().chain([remote]) {
        let name = format!("{remote}/{base}");
        if git.base.as_ref() == Some(&name) {
            return;
        }
        let full = format!("refs/remotes/{name}^{{commit}}");
        let Ok(Ok(commit)) = asked.git_or(&["rev-parse", "--verify", "--quiet", "--end-of-options", &full]).await
        else {
            continue;
        };
        git.base_commit = Some(text(commit.trim_ascii()));
        git.base = Some(name);
        let _ = compare(&asked, git).await;
        return;
    }
}

/// Lists the worktrees of a directory's repository, the main one first.
///
/// # Errors
/// Returns the reason why git has no answer, and the fix.
pub async fn worktrees(directory: &Path, env: &BTreeMap<String, String>) -> Result<Vec<Worktree>, Source> {
    let asked = Runner { directory, env };
    let list = asked.find(&["worktree", "list", "--porcelain", "-z"]).await;
    list.map(|list| porcelain::worktrees(&list)).map_err(|NoAnswer(source)| source)
}

async fn look_with(asked: Runner<'_>, base: Option<&str>) -> Result<Git, NoAnswer> {
    let repository = asked.repository().await?;
    let (bare, shallow) = (repository.is_bare, repository.is_shallow);
    let Some(root) = repository.work_tree.clone() else {
        return Ok(Git { root: repository.common_dir, bare, shallow, ..Git::default() });
    };
    let asked = asked.reader(&repository)?;
    let config = porcelain::Config::parse(&repository.config);
    let mut refs =
        vec!["for-each-ref", "--format=%(refname)%00%(symref)%00%(objectname)", "refs/remotes/*/HEAD", "refs/heads/"];
    let wanted = base.map(|base| [format!("refs/remotes/{base}"), format!("refs/remotes/*/{base}")]);
    refs.extend(wanted.iter().flatten().map(String::as_str));
    let (status, last, unpushed, refs) = tokio::join!(
        // Changes inside a submodule do not count; a different commit of it does.
        asked.git(&["status", "--porcelain=v2", "--branch", "--show-stash", "--ignore-submodules=dirty", "-z"]),
        asked.git_or(&["log", "-1", "--no-show-signature", "--format=%ct %s"]),
        asked.git_or(&["rev-list", "--count", "--max-count=1001", "HEAD", "--not", "--remotes"]),
        asked.git(&refs),
    );
    let mut git = porcelain::status(&status?);
    git.root = root;
    git.shallow = shallow;
    if let Some(last) = last?.ok().filter(|_| git.head.is_some()) {
        let last = text(last.trim_ascii_end());
        let (at, subject) = last.split_once(' ').unwrap_or((&last, ""));
        (git.head_at, git.subject) = (at.parse().ok(), Some(subject.to_owned()));
    }
    let count = unpushed?.ok().and_then(|count| text(count.trim_ascii()).parse::<u64>().ok());
    let has_remote = config.remotes().next().is_some();
    git.unpushed = count.filter(|count| has_remote && git.head.is_some() && *count <= u64::from(UNPUSHED_MAX));
    git.operation = operation::under_way(&repository.git_dir, git.conflicted);
    (git.base, git.base_commit) = base::find_base(&config, &refs?, git.work_branch(), base).unzip();
    git.pushed = remote::push_target(&config, git.work_branch().unwrap_or_default());
    git.linked = repository.git_dir != repository.common_dir;
    git.common_dir = repository.common_dir;
    compare(&asked, &mut git).await?;
    Ok(git)
}

/// Counts the commits by which the branch and its base differ.
async fn compare(asked: &Reader<'_>, git: &mut Git) -> Result<(), NoAnswer> {
    (git.behind_base, git.ahead_of_base) = (None, None);
    if let Some(base) = git.base.clone().filter(|_| git.head.is_some()) {
        let range = format!("{base}...HEAD");
        let counted = asked.git_or(&["rev-list", "--left-right", "--count", &range, "--"]).await?;
        let counts = counted.ok().and_then(|counts| {
            let counts = text(&counts);
            let (behind, ahead) = counts.trim().split_once('\t')?;
            Some((behind.parse().ok()?, ahead.parse().ok()?))
        });
        (git.behind_base, git.ahead_of_base) = counts.unzip();
    }
    Ok(())
}

fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the source of git's part of an answer.
pub(crate) fn source_of(git: &Result<Git, Source>) -> Source {
    match git {
        Ok(git) if git.bare => Source::missing(State::Absent, "a bare repository has no worktree", None),
        Ok(git) if git.shallow => {
            Source { detail: Some("the clone is shallow: counts may be too small".to_owned()), ..Source::ok() }
        }
        Ok(_) => Source::ok(),
        Err(source) => source.clone(),
    }
}

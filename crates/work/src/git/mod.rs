//! What git says of a worktree: one `status --porcelain=v2`, and a few small questions beside it.
//!
//! `porcelain.rs` reads its formats, `operation.rs` what is under way, `base.rs` what the branch goes back to.

mod base;
mod operation;
pub mod porcelain;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

pub use operation::{Operation, OperationKind};
pub use porcelain::{Change, ChangeKind};

use crate::run::{Asked, NoAnswer};
use crate::sources::{Source, State};

/// The most changed files that are listed; their number always is.
pub const CHANGES_MAX: usize = 200;
/// More unpushed commits than this are not counted.
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
    /// Its first line.
    pub subject: Option<String>,
    /// The branch that this one follows.
    pub upstream: Option<String>,
    /// Commits that the upstream lacks, and that it has more.
    pub ahead: Option<u64>,
    pub behind: Option<u64>,
    /// The branch that this work goes back to.
    pub base: Option<String>,
    /// Commits that the base lacks, and that it has more.
    pub ahead_of_base: Option<u64>,
    pub behind_base: Option<u64>,
    /// Commits on no branch of any remote; null without a remote, and where they are more than are counted.
    pub unpushed: Option<u64>,
    pub detached: bool,
    /// A rebase, merge or the like that is not finished.
    pub operation: Option<Operation>,
    pub stashes: u64,
    /// How many files have changes that are staged, are not staged, are in conflict, or are untracked.
    pub staged: u64,
    pub unstaged: u64,
    pub conflicted: u64,
    pub untracked: u64,
    /// The changed files, conflicts first; at most 200.
    pub changes: Vec<Change>,
    pub bare: bool,
    pub shallow: bool,
}

/// One of the worktrees of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Worktree {
    pub path: PathBuf,
    pub branch: Option<String>,
    pub head: Option<String>,
    pub bare: bool,
    /// Why it is locked; empty without a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<String>,
    /// Its directory is gone.
    pub prunable: bool,
}

/// Asks git about a directory.
///
/// # Errors
/// Why it has no answer, and what mends that.
pub async fn look(directory: &Path, env: &BTreeMap<String, String>) -> Result<Git, Source> {
    let asked = Asked { directory, env, filters: Vec::new() };
    look_with(asked).await.map_err(|NoAnswer(source)| source)
}

/// The worktrees of a directory's repository, the main one first.
///
/// # Errors
/// Why git has no answer, and what mends that.
pub async fn worktrees(directory: &Path, env: &BTreeMap<String, String>) -> Result<Vec<Worktree>, Source> {
    let asked = Asked { directory, env, filters: Vec::new() };
    let list = asked.git(&["worktree", "list", "--porcelain", "-z"]).await;
    list.map(|list| porcelain::worktrees(&list)).map_err(|NoAnswer(source)| source)
}

async fn look_with(mut asked: Asked<'_>) -> Result<Git, NoAnswer> {
    // What the repository configures is known before anything that could run it.
    let (places, config) = tokio::join!(
        asked.git(&[
            "rev-parse",
            "--path-format=absolute",
            "--git-dir",
            "--git-common-dir",
            "--is-bare-repository",
            "--is-shallow-repository",
            "--is-inside-work-tree",
        ]),
        asked.git(&["config", "--list", "--show-scope", "-z"]),
    );
    let places = places?;
    let mut lines = places.split(|byte| *byte == b'\n').map(path);
    let mut next = || lines.next().unwrap_or_default();
    let (git_dir, common, bare, shallow, inside) = (next(), next(), next(), next(), next());
    let config = porcelain::Config::of(&config?);
    asked.filters = config.own_filters();
    let (bare, shallow) = (bare == Path::new("true"), shallow == Path::new("true"));
    if bare || inside != Path::new("true") {
        return Ok(Git { root: common, bare, shallow, ..Git::default() });
    }
    let (top, status, last, unpushed, refs) = tokio::join!(
        asked.git(&["rev-parse", "--show-toplevel"]),
        // What stands in a submodule is its own; only whether its commit is another counts here.
        asked.git(&["status", "--porcelain=v2", "--branch", "--show-stash", "--ignore-submodules=dirty", "-z"]),
        asked.git_or(&["log", "-1", "--no-show-signature", "--format=%s"]),
        asked.git_or(&["rev-list", "--count", "--max-count=1001", "HEAD", "--not", "--remotes"]),
        asked.git(&["for-each-ref", "--format=%(refname)%00%(symref)", "refs/remotes/*/HEAD", "refs/heads/"]),
    );
    let mut git = porcelain::status(&status?);
    git.root = path(top?.strip_suffix(b"\n").unwrap_or_default());
    git.shallow = shallow;
    git.subject = last?.ok().filter(|_| git.head.is_some()).map(|line| text(line.trim_ascii_end()));
    let count = unpushed?.ok().and_then(|count| text(count.trim_ascii()).parse::<u64>().ok());
    let has_remote = config.remotes().next().is_some();
    git.unpushed = count.filter(|count| has_remote && git.head.is_some() && *count <= u64::from(UNPUSHED_MAX));
    git.operation = operation::under_way(&git_dir, git.conflicted);
    git.base = base::of(&config, &refs?, git.branch.as_deref());
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
    Ok(git)
}

fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// How git's answer was come by.
pub(crate) fn source_of(git: &Result<Git, Source>) -> Source {
    match git {
        Ok(git) if git.bare => Source::missing(State::Absent, "a bare repository has no worktree", None),
        Ok(git) if git.shallow => Source {
            detail: Some("the history is cut off (shallow): counts may be too small".to_owned()),
            ..Source::ok()
        },
        Ok(_) => Source::ok(),
        Err(source) => source.clone(),
    }
}

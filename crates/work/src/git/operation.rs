//! What is under way: git leaves files of it in the worktree's git directory (see git-rebase, git-merge, git-cherry-pick,
//! git-revert, git-bisect).

use std::path::Path;

use project::regular;
use schemars::JsonSchema;
use serde::Serialize;

/// The longest of those files that is read.
const LONGEST: u64 = 4096;

/// An operation that is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Operation {
    pub kind: OperationKind,
    /// Of a rebase: the commit it is at, and how many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// The branch that is rebased, or on which the bisect began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Files in conflict.
    pub conflicts: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    Rebase,
    Am,
    Merge,
    CherryPick,
    Revert,
    Bisect,
}

impl OperationKind {
    /// The word for it, which is also git's command.
    pub fn word(self) -> &'static str {
        match self {
            OperationKind::Rebase => "rebase",
            OperationKind::Am => "am",
            OperationKind::Merge => "merge",
            OperationKind::CherryPick => "cherry-pick",
            OperationKind::Revert => "revert",
            OperationKind::Bisect => "bisect",
        }
    }
}

/// What the files in a git directory say. What contains another is told: a rebase that stopped at a conflict may have
/// CHERRY_PICK_HEAD too.
pub(super) fn under_way(git_dir: &Path, conflicts: u64) -> Option<Operation> {
    let at = |name: &str| git_dir.join(name);
    let read = |name: &str| Some(regular::read(&at(name), LONGEST).ok()?.trim().to_owned());
    let number = |name: &str| read(name)?.parse().ok();
    let of = |kind| Operation { kind, step: None, steps: None, branch: None, conflicts };
    // Of a detached HEAD it says so in words.
    let branch = |name: &str| read(name)?.strip_prefix("refs/heads/").map(str::to_owned);
    if at("rebase-merge").is_dir() {
        let (step, steps) = (number("rebase-merge/msgnum"), number("rebase-merge/end"));
        return Some(Operation { step, steps, branch: branch("rebase-merge/head-name"), ..of(OperationKind::Rebase) });
    }
    if at("rebase-apply").is_dir() {
        let is_am = at("rebase-apply/applying").exists();
        let kind = if is_am { OperationKind::Am } else { OperationKind::Rebase };
        let (step, steps) = (number("rebase-apply/next"), number("rebase-apply/last"));
        return Some(Operation { step, steps, branch: branch("rebase-apply/head-name"), ..of(kind) });
    }
    let heads = [
        ("MERGE_HEAD", OperationKind::Merge),
        ("CHERRY_PICK_HEAD", OperationKind::CherryPick),
        ("REVERT_HEAD", OperationKind::Revert),
        ("BISECT_LOG", OperationKind::Bisect),
    ];
    let kind = heads.into_iter().find(|(name, _)| at(name).exists()).map(|(_, kind)| kind)?;
    // A bisect says the branch that it began on, or else a commit. Another operation may be under way in it.
    let is_commit = |name: &str| name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let began_on = read("BISECT_START").filter(|name| !name.is_empty() && !is_commit(name));
    Some(Operation { branch: began_on, ..of(kind) })
}

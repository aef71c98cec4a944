//! Finds the operation in progress, by the files that git keeps in the git directory (see git-rebase, git-merge,
//! git-cherry-pick, git-revert, git-bisect).

use std::path::Path;

use project::regular;
use schemars::JsonSchema;
use serde::Serialize;

/// The size limit of each of those files.
const LONGEST: u64 = 4096;

/// An unfinished operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Operation {
    pub kind: OperationKind,
    /// The current step of a rebase, and the number of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// The branch that is being rebased, or on which the bisect began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The number of files in conflict.
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
    /// Returns git's command for the operation.
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

/// Finds the operation in progress. If operations are nested, returns the outer one: a rebase that stopped at a conflict
/// may also have CHERRY_PICK_HEAD.
pub(super) fn under_way(git_dir: &Path, conflicts: u64) -> Option<Operation> {
    let at = |name: &str| git_dir.join(name);
    let read = |name: &str| Some(regular::read(&at(name), LONGEST).ok()?.trim().to_owned());
    let number = |name: &str| read(name)?.parse().ok();
    let of = |kind| Operation { kind, step: None, steps: None, branch: None, conflicts };
    // With a detached HEAD, the file contains `detached HEAD` instead of a ref.
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
    // A bisect records the branch on which it began, or else a commit. Another operation may be in progress within it.
    let is_commit = |name: &str| name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let began_on = read("BISECT_START").filter(|name| !name.is_empty() && !is_commit(name));
    Some(Operation { branch: began_on, ..of(kind) })
}

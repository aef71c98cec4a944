//! The status tools of Tidepool's control server under their original names: `exo_status` and `exo_reconstitute`. Their
//! text is the result as JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use project::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::changes::Changed;
use crate::git::Git;
use crate::network_cache::Wish;
use crate::pull::{self, Pull};
use crate::sources::Source;
use crate::state::Work;
use crate::status::{Sections, StatusQuery};
use crate::tracker::Issue;

/// Shows the issue of your branch, your worktree, uncommitted changes and the pull request.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Args {
    /// The id of an issue (default: the issue that the branch names).
    pub bead_id: Option<String>,
}

/// Fetches from git's remotes and the issue tracker, then answers as exo_status does.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SyncArgs {
    /// The id of an issue (default: the issue that the branch names).
    pub bead_id: Option<String>,
}

/// The state of the work. A missing part is null, and `sources` gives the reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    pub bead: Option<Issue>,
    pub worktree: Option<WorktreeInfo>,
    /// The changed files; at most 200.
    pub dirty_files: Vec<String>,
    pub pr: Option<Pull>,
    pub git: Option<Git>,
    /// Changes since your last call.
    pub changed: Vec<Changed>,
    pub sources: BTreeMap<&'static str, Source>,
}

/// The caller's worktree.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorktreeInfo {
    /// The name of the worktree's directory.
    pub name: String,
    pub path: PathBuf,
    pub branch: Option<String>,
    /// The directory of the repository's main worktree.
    pub repo_root: PathBuf,
    /// True for a linked worktree, false for the main one.
    pub is_worktree: bool,
}

impl WorktreeInfo {
    fn from_git(git: &Git) -> WorktreeInfo {
        // If the git directory is elsewhere, its parent is not the main worktree.
        let above = git.common_dir.parent().filter(|_| git.linked && git.common_dir.ends_with(".git"));
        WorktreeInfo {
            name: git.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            path: git.root.clone(),
            branch: git.work_branch().map(str::to_owned),
            repo_root: above.unwrap_or(&git.root).to_owned(),
            is_worktree: git.linked,
        }
    }
}

async fn answer(work: &Work, cx: &Context, bead_id: Option<&str>, sync: bool) -> Result<Output, ToolError> {
    let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
    work.confirm_delivery(caller, true);
    let synced = if sync { work.sync(caller).await } else { BTreeMap::new() };
    let wanted = StatusQuery {
        sections: Sections { pull: true, issue: true, worktrees: false },
        issue: bead_id.filter(|id| !id.is_empty()),
        wish: Wish { fresh: sync, wait: pull::WAIT },
        is_a_call: true,
    };
    let mut standing = work.collect_status(caller, wanted).await;
    standing.sources.extend(synced);
    let git = standing.git.ok();
    Ok(Output {
        bead: standing.issue,
        worktree: git.as_ref().filter(|git| !git.bare).map(WorktreeInfo::from_git),
        dirty_files: git.iter().flat_map(|git| &git.changes).map(|change| change.path.clone()).collect(),
        pr: standing.pull,
        git,
        changed: standing.changed,
        sources: standing.sources,
    })
}

fn text(output: &Output) -> String {
    serde_json::to_string(output).unwrap_or_default()
}

pub(super) struct ExoStatus(pub Arc<Work>);

impl Tool for ExoStatus {
    const NAME: &'static str = "exo_status";
    const TITLE: &'static str = "State of the work";
    const EFFECT: Effect = Effect::READ.open_world();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        answer(&self.0, &cx, args.bead_id.as_deref(), false).await
    }

    fn text(output: &Output) -> String {
        text(output)
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Of the branch", arguments: json!({}), text: None }]
    }
}

pub(super) struct ExoReconstitute(pub Arc<Work>);

impl Tool for ExoReconstitute {
    const NAME: &'static str = "exo_reconstitute";
    const TITLE: &'static str = "Fetch, and state of the work";
    const EFFECT: Effect = Effect::WRITE.idempotent().open_world();
    const REPEAT: Repeat = Repeat::Visible { advice: "Call it again: a second fetch does no harm." };
    type Args = SyncArgs;
    type Output = Output;

    async fn call(&self, cx: Context, args: SyncArgs) -> Result<Output, ToolError> {
        answer(&self.0, &cx, args.bead_id.as_deref(), true).await
    }

    fn text(output: &Output) -> String {
        text(output)
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Of an issue", arguments: json!({"bead_id": "bd-a3f8"}), text: None }]
    }
}

//! `work_status`: where the work in the caller's worktree stands.

use std::collections::BTreeMap;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use project::{Caller, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::git::{self, Git, Worktree, source_of};
use crate::sources::{Source, State};

/// Branch, base, upstream, unfinished operations and changed files of your worktree, in one call. Says why a part is missing.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Args {
    /// `git` if none is named.
    pub sections: Vec<Section>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Section {
    Git,
    /// All worktrees of the repository.
    Worktrees,
}

/// What was asked for. A part that is missing has its reason in `sources`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<Vec<Worktree>>,
    /// By part.
    pub sources: BTreeMap<&'static str, Source>,
}

pub(super) struct WorkStatus;

impl Tool for WorkStatus {
    const NAME: &'static str = "work_status";
    const TITLE: &'static str = "Where the work stands";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
        let wants = |section| match args.sections.as_slice() {
            [] => section == Section::Git,
            named => named.contains(&section),
        };
        let of_git =
            async { if wants(Section::Git) { Some(git::look(&caller.worktree, &caller.env).await) } else { None } };
        let of_worktrees = async {
            if wants(Section::Worktrees) { Some(git::worktrees(&caller.worktree, &caller.env).await) } else { None }
        };
        let (git, worktrees) = tokio::join!(of_git, of_worktrees);
        let mut output = Output::default();
        if let Some(git) = git {
            output.sources.insert("git", source_of(&git));
            output.git = git.ok();
        }
        if let Some(worktrees) = worktrees {
            let source = worktrees.as_ref().map_or_else(Source::clone, |_| Source::ok());
            output.sources.insert("worktrees", source);
            output.worktrees = worktrees.ok();
        }
        Ok(output)
    }

    fn text(output: &Output) -> String {
        let mut text = output.git.as_ref().map(lines).unwrap_or_default();
        for worktree in output.worktrees.iter().flatten() {
            text.push(worktree_line(worktree));
        }
        for (part, source) in &output.sources {
            if source.state != State::Ok || source.detail.is_some() {
                let detail = source.detail.as_deref().unwrap_or_default();
                let next = source.next.as_deref().map(|next| format!(" {next}")).unwrap_or_default();
                text.push(format!("{part}: {detail}.{next}"));
            }
        }
        text.join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "All worktrees", arguments: json!({"sections": ["worktrees"]}), text: None }]
    }
}

/// What matters of a worktree, the most urgent first. What is as it should be takes no line.
pub fn lines(git: &Git) -> Vec<String> {
    if git.bare {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if let Some(operation) = &git.operation {
        let step = match (operation.step, operation.steps) {
            (Some(step), Some(steps)) => format!(" {step}/{steps}"),
            _ => String::new(),
        };
        let of = operation.branch.as_deref().map(|branch| format!(" of {}", visible(branch))).unwrap_or_default();
        let conflicts = match operation.conflicts {
            0 => "no conflicts".to_owned(),
            count => format!("{count} in conflict"),
        };
        lines.push(format!("{}{step}{of} is not finished, {conflicts}", operation.kind.word()));
    }
    let at = match (&git.head, &git.subject) {
        (Some(head), subject) => {
            let subject = subject.as_deref().map(|subject| format!(" \"{}\"", visible(subject))).unwrap_or_default();
            format!("at {}{subject}", head.get(..9).unwrap_or(head))
        }
        (None, _) => "without a commit".to_owned(),
    };
    let branch = git
        .branch
        .as_deref()
        .map_or_else(|| "no branch (detached)".to_owned(), |name| format!("branch {}", visible(name)));
    lines.push(format!("{branch}, {at}"));
    let compared = |name: &Option<String>, ahead: Option<u64>, behind: Option<u64>| match (name, ahead, behind) {
        (Some(name), Some(ahead), Some(behind)) if ahead + behind > 0 => {
            Some(format!("{ahead} ahead of {}, {behind} behind", visible(name)))
        }
        _ => None,
    };
    lines.extend(compared(&git.upstream, git.ahead, git.behind));
    if git.base != git.upstream {
        lines.extend(compared(&git.base, git.ahead_of_base, git.behind_base));
    }
    if let (Some(name), None) = (&git.upstream, git.ahead) {
        lines.push(format!("{} is gone", visible(name)));
    }
    let counts = [
        (git.unpushed.unwrap_or_default(), "unpushed commits"),
        (git.stashes, "stashed"),
        (git.conflicted, "in conflict"),
        (git.staged, "staged"),
        (git.unstaged, "not staged"),
        (git.untracked, "untracked"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if !counts.is_empty() {
        lines.push(counts.join(", "));
    }
    for change in &git.changes {
        let from = change.renamed_from.as_deref().map(|from| format!(" from {}", visible(from))).unwrap_or_default();
        let kind = serde_json::to_value(change.kind).ok();
        let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default();
        lines.push(format!("  {kind} {}{from}", visible(&change.path)));
    }
    lines
}

fn worktree_line(worktree: &Worktree) -> String {
    let branch = match (&worktree.branch, worktree.bare) {
        (_, true) => "bare".to_owned(),
        (Some(branch), _) => format!("branch {}", visible(branch)),
        (None, _) => "no branch (detached)".to_owned(),
    };
    let head =
        worktree.head.as_deref().map(|head| format!(" at {}", head.get(..9).unwrap_or(head))).unwrap_or_default();
    let locked = worktree.locked.as_ref().map_or("", |_| ", locked");
    let gone = if worktree.prunable { ", its directory is gone" } else { "" };
    format!("{}: {branch}{head}{locked}{gone}", project::visible::path(&worktree.path))
}

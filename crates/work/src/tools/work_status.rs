//! `work_status`: where the work in the caller's worktree stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use project::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::work_brief::NoteView;
use crate::brief::{barred, quoted};
use crate::gather::Work;
use crate::git::{self, Git, Worktree, source_of};
use crate::notes::NOTE_MAX;
use crate::sources::{Source, State};
use crate::tracker::Issue;
use crate::words;

/// Branch, base, upstream, unfinished operations, changed files and issue of your worktree, in one call. Says why a part is
/// missing.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Args {
    /// `git` and `issue` if none is named.
    pub sections: Vec<Section>,
    /// The id of an issue; else the one that the branch is named for.
    pub issue: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Section {
    Git,
    Issue,
    /// All worktrees of the repository.
    Worktrees,
    /// Hand-over notes on this branch, whole.
    Notes,
}

/// How much of an issue's description is shown, in characters.
const DESCRIPTION: usize = 2000;

/// What was asked for. A part that is missing has its reason in `sources`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<Vec<Worktree>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<Issue>,
    /// The latest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<NoteView>>,
    /// By part.
    pub sources: BTreeMap<&'static str, Source>,
    /// Whether that there is no issue is worth a line.
    #[serde(skip)]
    pub asked_for_issue: bool,
}

pub(super) struct WorkStatus(pub Arc<Work>);

impl Tool for WorkStatus {
    const NAME: &'static str = "work_status";
    const TITLE: &'static str = "Where the work stands";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
        self.0.heard_of(caller, true);
        let wants = |section| match args.sections.as_slice() {
            [] => matches!(section, Section::Git | Section::Issue),
            named => named.contains(&section),
        };
        let wants_issue = wants(Section::Issue) || args.issue.is_some();
        // Its branch says which issue it is.
        let of_git = async {
            if wants(Section::Git) || wants_issue { Some(git::look(&caller.worktree, &caller.env).await) } else { None }
        };
        let of_worktrees = async {
            if wants(Section::Worktrees) { Some(git::worktrees(&caller.worktree, &caller.env).await) } else { None }
        };
        let (git, worktrees) = tokio::join!(of_git, of_worktrees);
        let asked_for_issue = args.sections.contains(&Section::Issue) || args.issue.is_some();
        let mut output = Output { asked_for_issue, ..Output::default() };
        if let (Some(git), true) = (&git, wants_issue) {
            let of_branch = self.0.issue(caller, git, args.issue.as_deref()).await;
            output.sources.insert("issue", of_branch.source);
            output.issue = of_branch.issue;
        }
        if let Some(git) = git.filter(|_| wants(Section::Git)) {
            output.sources.insert("git", source_of(&git));
            output.git = git.ok();
        }
        if let Some(worktrees) = worktrees {
            let source = worktrees.as_ref().map_or_else(Source::clone, |_| Source::ok());
            output.sources.insert("worktrees", source);
            output.worktrees = worktrees.ok();
        }
        if wants(Section::Notes) {
            let notes = self.0.notes_of(caller).await;
            let source = notes.as_ref().map_or_else(
                |error| Source::missing(State::Failed, error.to_string(), None),
                |(_, notes)| match notes.is_empty() {
                    true => Source::missing(
                        State::Absent,
                        "nobody has left a note on this branch",
                        Some("work_brief at `end` with a `note` leaves one."),
                    ),
                    false => Source::ok(),
                },
            );
            output.sources.insert("notes", source);
            let now_ms = project::journal::now();
            output.notes =
                notes.ok().map(|(_, notes)| notes.iter().rev().map(|note| NoteView::of(note, now_ms)).collect());
        }
        Ok(output)
    }

    fn text(output: &Output) -> String {
        let mut text = output.git.as_ref().map(words::lines).unwrap_or_default();
        for worktree in output.worktrees.iter().flatten() {
            text.push(words::worktree(worktree));
        }
        if let Some(issue) = &output.issue {
            text.extend(words::issue(issue));
            text.extend(barred(&issue.description, DESCRIPTION));
        }
        for note in output.notes.iter().flatten() {
            text.extend(quoted(&note.author, note.age_ms, &note.text, 2 * NOTE_MAX));
        }
        for (part, source) in &output.sources {
            let is_quiet = *part == "issue" && source.state == State::Absent && !output.asked_for_issue;
            if !is_quiet && (source.state != State::Ok || source.detail.is_some()) {
                let detail = source.detail.as_deref().unwrap_or_default();
                let next = source.next.as_deref().map(|next| format!(" {next}")).unwrap_or_default();
                text.push(format!("{part}: {detail}.{next}"));
            }
        }
        text.join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![
            Example { title: "All worktrees", arguments: json!({"sections": ["worktrees"]}), text: None },
            Example { title: "An issue", arguments: json!({"sections": ["issue"], "issue": "bd-a3f8"}), text: None },
        ]
    }
}

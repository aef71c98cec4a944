//! `work_status`: where the work in the caller's worktree stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use project::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::work_brief::NoteView;
use crate::brief::quoted;
use crate::gather::Work;
use crate::git::{self, Git, Worktree, source_of};
use crate::notes::NOTE_MAX;
use crate::sources::{Source, State};
use crate::words;

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
    /// Hand-over notes on this branch, whole.
    Notes,
}

/// What was asked for. A part that is missing has its reason in `sources`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<Vec<Worktree>>,
    /// The latest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<NoteView>>,
    /// By part.
    pub sources: BTreeMap<&'static str, Source>,
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
        for note in output.notes.iter().flatten() {
            text.extend(quoted(&note.author, note.age_ms, &note.text, 2 * NOTE_MAX));
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

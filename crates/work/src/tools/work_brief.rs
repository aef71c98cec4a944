//! `work_brief`: the information for an agent that starts, and the unfinished items for one that ends.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use project::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::briefing::Moment;
use crate::git::source_of;
use crate::notes::{NOTE_MAX, Note, NoteTarget};
use crate::other_parts::{Agent, Waiting};
use crate::sources::Source;
use crate::state::Work;
use crate::tracker::Issue;

/// Summarizes your work on one screen. At `start`: what is in progress, the last agent's note and pending items. At `end`:
/// what is unfinished. Pass `note` to leave a note for the next agent on this branch.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Args {
    /// The start or the end of your work (default `start`).
    pub at: At,
    /// Only with `end`: what the next agent should know, at most 8 KiB.
    pub note: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum At {
    #[default]
    Start,
    End,
}

/// The brief and the data that it was rendered from.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The occasion of the brief.
    pub at: At,
    /// The text of the brief.
    pub brief: String,
    /// The last note on this branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<NoteView>,
    /// The branch that the given note was kept for, or the directory if there is no branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_for: Option<String>,
    /// The issue of the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<Issue>,
    /// Pending items of the caller from other parts.
    pub waiting: Vec<Waiting>,
    /// Other agents in this worktree.
    pub agents: Vec<Agent>,
    /// The source of git's part.
    pub git: Source,
}

/// A note for output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoteView {
    pub author: String,
    pub age_ms: u64,
    pub text: String,
    /// The number of runs that received it.
    pub read_by: usize,
}

impl NoteView {
    pub(crate) fn from_note(note: &Note, now_ms: u64) -> NoteView {
        NoteView {
            author: note.author.clone(),
            age_ms: now_ms.saturating_sub(note.at_ms),
            text: note.text.clone(),
            read_by: note.read_by.len(),
        }
    }
}

pub(super) struct WorkBrief(pub Arc<Work>);

impl Tool for WorkBrief {
    const NAME: &'static str = "work_brief";
    const TITLE: &'static str = "Brief";
    const EFFECT: Effect = Effect::WRITE;
    const REPEAT: Repeat =
        Repeat::Visible { advice: "work_status with the section notes shows whether the note was kept." };
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
        let work = &self.0;
        work.confirm_delivery(caller, true);
        let kept_for = match (args.at, &args.note) {
            (At::Start, Some(_)) => {
                return Err(ToolError::user("`note` is only allowed with `at`: `end`.")
                    .hint("Pass `at`: `end` together with `note`."));
            }
            (_, None) => None,
            (At::End, Some(note)) => Some(keep(work, caller, note).await?.0),
        };
        let moment = if args.at == At::End { Moment::End } else { Moment::Again };
        let brief = work.brief(&cx, caller, moment).await;
        let now_ms = project::journal::now();
        Ok(Output {
            at: args.at,
            brief: brief.text,
            note: brief.note.as_ref().map(|note| NoteView::from_note(note, now_ms)),
            kept_for: kept_for.as_ref().map(render_target),
            issue: brief.issue,
            waiting: brief.waiting,
            agents: brief.agents,
            git: source_of(&brief.git),
        })
    }

    fn text(output: &Output) -> String {
        let kept = output.kept_for.as_ref().map(|place| format!("The note is kept for {place}.\n")).unwrap_or_default();
        kept + if output.brief.is_empty() { "Nothing is in progress, and nothing is pending." } else { &output.brief }
    }

    fn examples() -> Vec<Example> {
        let note = "Parser done; the tests of `lex` are next.";
        vec![
            Example { title: "What to know at the start", arguments: json!({}), text: None },
            Example { title: "Leave a note", arguments: json!({"at": "end", "note": note}), text: None },
        ]
    }
}

/// Keeps a note of the caller. Returns the branch or directory it belongs to, and the number of notes.
pub(crate) async fn keep(work: &Work, caller: &Caller, note: &str) -> Result<(NoteTarget, usize), ToolError> {
    let note = note.trim();
    if note.is_empty() {
        return Err(ToolError::user("The note is empty.").hint("Write what the next agent should know."));
    }
    if note.len() > NOTE_MAX {
        let error = format!("The note has {} bytes; the limit is {NOTE_MAX}.", note.len());
        return Err(ToolError::user(error).hint("Put longer texts in a file, and name the file in the note."));
    }
    work.keep(caller, note).await.map_err(|error| {
        ToolError::user(format!("The note could not be kept: {error}."))
            .hint("`hob doctor` looks at the state directory.")
    })
}

/// Renders the branch or directory of notes for people and models.
pub(crate) fn render_target(place: &NoteTarget) -> String {
    match place {
        NoteTarget::Branch(name) => format!("branch {}", project::visible(name)),
        NoteTarget::Directory(path) => format!("directory {}", project::visible::path(path)),
    }
}

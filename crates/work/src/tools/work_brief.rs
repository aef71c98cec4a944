//! `work_brief`: what an agent that begins should know, and what one that ends should finish and leave.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use project::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::around::{Agent, Waiting};
use crate::briefing::Moment;
use crate::gather::Work;
use crate::git::source_of;
use crate::notes::{NOTE_MAX, Note, Place};
use crate::sources::Source;
use crate::tracker::Issue;

/// The state of your work on one screen: at `start` what is under way, the last agent's note and what waits for you; at
/// `end` what is unfinished. `note` is kept for the next agent on this branch.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Args {
    /// The beginning of your work, or its end.
    pub at: At,
    /// At `end`: what the next one should know, at most 8 KiB.
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

/// The brief, and what it was made of.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// What it is the brief for.
    pub at: At,
    /// The brief, as text.
    pub brief: String,
    /// The last note that was left on this branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<NoteView>,
    /// The branch that the given note was kept for; a directory without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_for: Option<String>,
    /// The issue of the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<Issue>,
    /// What waits for the caller in other parts.
    pub waiting: Vec<Waiting>,
    /// Other agents in this worktree.
    pub agents: Vec<Agent>,
    /// How git's part was come by.
    pub git: Source,
}

/// A note, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoteView {
    pub author: String,
    pub age_ms: u64,
    pub text: String,
    /// How many agents' runs it reached.
    pub read_by: usize,
}

impl NoteView {
    pub(crate) fn of(note: &Note, now_ms: u64) -> NoteView {
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
        work.heard_of(caller, true);
        let kept_for = match (args.at, &args.note) {
            (At::Start, Some(_)) => {
                return Err(ToolError::user("A note is left at the end of work.").hint("Say `at`: `end` with `note`."));
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
            note: brief.note.as_ref().map(|note| NoteView::of(note, now_ms)),
            kept_for: kept_for.as_ref().map(shown),
            issue: brief.issue,
            waiting: brief.waiting,
            agents: brief.agents,
            git: source_of(&brief.git),
        })
    }

    fn text(output: &Output) -> String {
        let kept = output.kept_for.as_ref().map(|place| format!("The note is kept for {place}.\n")).unwrap_or_default();
        kept + if output.brief.is_empty() { "Nothing is under way here, and nothing waits." } else { &output.brief }
    }

    fn examples() -> Vec<Example> {
        let note = "Parser done; the tests of `lex` are next.";
        vec![
            Example { title: "What to know at the start", arguments: json!({}), text: None },
            Example { title: "Leave a note", arguments: json!({"at": "end", "note": note}), text: None },
        ]
    }
}

/// Keeps a note of the caller, and returns what it is kept for, and how many notes are.
pub(crate) async fn keep(work: &Work, caller: &Caller, note: &str) -> Result<(Place, usize), ToolError> {
    let note = note.trim();
    if note.is_empty() {
        return Err(ToolError::user("The note is empty.").hint("Give what the next one should know."));
    }
    if note.len() > NOTE_MAX {
        let error = format!("The note has {} bytes; at most {NOTE_MAX} are kept.", note.len());
        return Err(ToolError::user(error).hint("Put what is longer in a file, and name it in the note."));
    }
    work.keep(caller, note).await.map_err(|error| {
        ToolError::user(format!("The note could not be kept: {error}."))
            .hint("`hob doctor` looks at the state directory.")
    })
}

/// What notes belong to, for people and models.
pub(crate) fn shown(place: &Place) -> String {
    match place {
        Place::Branch(name) => format!("branch {}", project::visible(name)),
        Place::Directory(path) => format!("directory {}", project::visible::path(path)),
    }
}

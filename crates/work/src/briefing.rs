//! Collects the state of a caller's worktree and renders the brief.

use std::time::Duration;

use mcp::tool::Context;
use project::{Caller, journal};

use crate::brief::{self, BriefInput};
use crate::git::{self, Git};
use crate::network_cache::Wish;
use crate::notes::{Note, NoteTarget};
use crate::other_parts::{Agent, Waiting};
use crate::sources::Source;
use crate::state::{Work, place_of};
use crate::status::{Sections, StatusQuery};
use crate::tracker::Issue;

/// How long a brief waits for GitHub. An agent's start waits for the brief.
const BRIEF_WAIT: Duration = Duration::from_millis(1500);

/// The occasion of a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A run begins: the brief shows the last note unless this run has already received it.
    Begin,
    /// An explicit request, or a run that lost its context: the brief always shows the note.
    Again,
    End,
}

/// A brief and the data that it was rendered from.
#[derive(Debug)]
pub struct Brief {
    /// At most [`brief::MOST`] characters.
    pub text: String,
    pub git: Result<Git, Source>,
    pub note: Option<Note>,
    pub issue: Option<Issue>,
    pub waiting: Vec<Waiting>,
    pub agents: Vec<Agent>,
}

impl Work {
    /// Renders the brief for this caller. The note in it is leased to the caller's run; see [`Work::confirm_delivery`].
    pub async fn brief(&self, cx: &Context, caller: &Caller, moment: Moment) -> Brief {
        let sections = Sections { pull: true, issue: true, worktrees: false };
        let wish = Wish { fresh: false, wait: BRIEF_WAIT };
        let wanted = StatusQuery { sections, issue: None, wish, is_a_call: moment != Moment::End };
        let (standing, waiting) = tokio::join!(self.collect_status(caller, wanted), (self.around.waiting)(cx));
        let git = standing.git;
        let place = place_of(&git, caller);
        let note = match moment {
            Moment::End => None,
            moment => self.last_note(&place).filter(|note| moment == Moment::Again || !reached(note, caller)),
        };
        let since = match (&git, &note) {
            (Ok(git), Some(Note { base: Some(then), .. })) => git::since(git, then, &caller.env).await,
            _ => None,
        };
        let mut agents = (self.around.agents)(&caller.worktree);
        agents.retain(|agent| agent.pid != caller.pid && (agent.run.is_none() || agent.run != caller.run));
        let (issue, pull, ready, changed) = (standing.issue, standing.pull, standing.ready, standing.changed);
        let now_ms = journal::now();
        let known = BriefInput { git, note, since, issue, pull, changed, ready, waiting, agents, now_ms };
        let text = match moment {
            Moment::End => brief::end(&known),
            Moment::Begin | Moment::Again => brief::start(&known),
        };
        if let Some(note) = &known.note {
            self.notes.shows(cx, caller, &place, note);
        }
        let BriefInput { git, note, issue, waiting, agents, .. } = known;
        Brief { text, git, note, issue, waiting, agents }
    }

    /// Renders the brief for a run that begins or has lost its context. With `needed`, returns `None` unless there is a note
    /// or a pending item.
    pub async fn brief_unasked(&self, cx: &Context, caller: &Caller, moment: Moment, needed: bool) -> Option<String> {
        if needed && self.notes.is_empty() && (self.around.waiting)(cx).await.is_empty() {
            return None;
        }
        let brief = self.brief(cx, caller, moment).await;
        let is_needed = brief.note.is_some() || !brief.waiting.is_empty();
        ((is_needed || !needed) && !brief.text.is_empty()).then_some(brief.text)
    }

    fn last_note(&self, place: &NoteTarget) -> Option<Note> {
        let notes = self.notes.read(place);
        // Show the brief without the note; `hob note` reports the error.
        let notes = notes.inspect_err(|error| tracing::warn!(%error, "read hand-over notes"));
        notes.unwrap_or_default().pop()
    }
}

/// True if the caller's run wrote the note or has received it.
fn reached(note: &Note, caller: &Caller) -> bool {
    caller.run.as_ref().is_some_and(|run| note.read_by.contains(run) || note.run.as_ref() == Some(run))
}

//! The daemon's records of hook events, for user interfaces.

use std::path::PathBuf;

use project::journal::Event;
use serde::Serialize;

use crate::agents::{Loss, Verdict};
use crate::event::{self, Kind};
use crate::journal::Line;

/// A record of a hook event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// An event was decided on and answered.
    HookAnswered {
        /// The number in the journal of hooks; 0 if it could not be written.
        hook: u64,
        agent: String,
        event: String,
        kind: Kind,
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        verdict: Verdict,
        #[serde(skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The command or file that the rule matched.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The sources that added to the agent's context.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        added: Vec<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        losses: Vec<Loss>,
        micros: u64,
    },
    /// An agent's session began or was resumed.
    AgentSessionBegan {
        hook: u64,
        #[serde(flatten)]
        of: Origin,
        worktree: PathBuf,
    },
    AgentSessionEnded {
        hook: u64,
        #[serde(flatten)]
        of: Origin,
    },
    /// The user sent a prompt.
    TurnBegan {
        hook: u64,
        #[serde(flatten)]
        of: Origin,
    },
    /// The agent was about to stop.
    TurnEnded {
        hook: u64,
        #[serde(flatten)]
        of: Origin,
        /// The outcome: the agent was held, or was let go although it should have been held.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    },
    /// An agent was about to ask its user for a permission.
    PermissionPrompted {
        hook: u64,
        #[serde(flatten)]
        of: Origin,
        tool: String,
        /// The command or the file.
        #[serde(skip_serializing_if = "Option::is_none")]
        about: Option<String>,
        verdict: Verdict,
        /// The person's answer, or the reason why there was none.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    },
}

/// The origin of a record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Origin {
    pub agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The reason in the agent's terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Record {
    /// Returns the records of an event and its journal line.
    pub(crate) fn from_event(line: &Line, event: &event::Event) -> Vec<Record> {
        let decided = line.matched.iter().find(|matched| Some(&matched.rule) == line.rule.as_ref());
        let answered = Record::HookAnswered {
            hook: line.number,
            agent: line.agent.clone(),
            event: line.event.clone(),
            kind: line.kind,
            session: line.session.clone(),
            verdict: line.verdict,
            rule: line.rule.clone(),
            by: decided.and_then(|matched| matched.by.clone()),
            added: line.added.clone(),
            losses: line.answer.losses.clone(),
            micros: line.micros,
        };
        let hook = line.number;
        let of = Origin {
            agent: line.agent.clone(),
            session: line.session.clone(),
            turn: event.turn.clone(),
            reason: event.reason.clone(),
        };
        let outcome = line.outcome.clone();
        let more = match (event.kind, &event.tool) {
            (Kind::SessionStart, _) => Record::AgentSessionBegan { hook, of, worktree: line.worktree.clone() },
            (Kind::SessionEnd, _) => Record::AgentSessionEnded { hook, of },
            (Kind::Prompt, _) => Record::TurnBegan { hook, of },
            (Kind::TurnEnd | Kind::TurnFailed, _) => Record::TurnEnded { hook, of, outcome },
            (Kind::PermissionRequest, Some(tool)) => {
                let about = tool.command.as_ref().map(event::Command::display).or_else(|| tool.paths.first().cloned());
                let (tool, verdict) = (tool.native.clone(), line.verdict);
                Record::PermissionPrompted { hook, of, tool, about, verdict, outcome }
            }
            _ => return vec![answered],
        };
        vec![answered, more]
    }
}

impl Event for Record {}

//! The daemon's records of hook events, which faces follow.

use project::journal::Event;
use serde::Serialize;

use crate::agents::{Loss, Verdict};
use crate::event::Kind;
use crate::journal::Line;

/// What happened at a hook.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// An event was decided on and answered.
    HookAnswered {
        /// Its number in the journal of hooks; 0 if it could not be written.
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
        #[serde(skip_serializing_if = "Vec::is_empty")]
        losses: Vec<Loss>,
        micros: u64,
    },
}

impl Record {
    /// Of a line of the journal.
    pub fn of(line: &Line) -> Record {
        let decided = line.matched.iter().find(|matched| Some(&matched.rule) == line.rule.as_ref());
        Record::HookAnswered {
            hook: line.number,
            agent: line.agent.clone(),
            event: line.event.clone(),
            kind: line.kind,
            session: line.session.clone(),
            verdict: line.verdict,
            rule: line.rule.clone(),
            by: decided.and_then(|matched| matched.by.clone()),
            losses: line.answer.losses.clone(),
            micros: line.micros,
        }
    }
}

impl Event for Record {}

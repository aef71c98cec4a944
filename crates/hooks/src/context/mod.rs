//! The text that is added to an agent's context at an event, and whether the agent is kept from stopping for it.
//!
//! Other parts provide the text through the trait [`AgentContext`](crate::service::AgentContext). This module decides when to
//! ask them ([`At`]), joins their texts to one of a length that agents accept ([`compose`]), and stores the rest for the next
//! event that can take it ([`Sessions`]).

mod sessions;
mod stop_limit;

use std::sync::atomic::{AtomicBool, Ordering};

pub use self::sessions::{Sessions, TurnEnd};
pub use self::stop_limit::Bounds;
use crate::agents::Row;
use crate::event::{Event, Kind};

/// The maximum length of a context in characters. Agents truncate a longer one, or write it to a file.
pub const CONTEXT_MAX: usize = 9500;

/// A time at which text can be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    SessionStart,
    Prompt,
    ToolBefore,
    ToolAfter,
    /// The turn's end. Text keeps the agent from stopping; it reads the text and continues.
    TurnEnd,
}

/// The state of an agent's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// The session begins, and earlier text is still known.
    Begins,
    /// The agent has lost earlier text.
    Lost,
    /// The session continues.
    Whole,
}

/// A moment with the state of the agent's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    pub moment: Moment,
    pub memory: Memory,
}

/// A text for an agent.
pub struct Piece {
    /// The name of the source, for the journal.
    pub from: &'static str,
    /// Facts; external content is framed as data.
    pub text: String,
    /// True if it should keep an agent from stopping.
    pub holds: bool,
    /// A callback for the case that the answer with this text is lost.
    pub lost: Option<Box<dyn FnOnce() + Send>>,
}

/// Returns the moment of an event; `None` if nothing can be added. Text in a subagent's events would reach only the subagent,
/// which has no mail and no questions.
pub fn moment(event: &Event, row: Option<&Row>) -> Option<Moment> {
    let row = row.filter(|_| event.subagent.is_none())?;
    let moment = match event.kind {
        Kind::SessionStart => Moment::SessionStart,
        Kind::Prompt => Moment::Prompt,
        Kind::ToolBefore => Moment::ToolBefore,
        Kind::ToolAfter => Moment::ToolAfter,
        Kind::TurnEnd => return row.holds().then_some(Moment::TurnEnd),
        _ => return None,
    };
    row.takes_context.then_some(moment)
}

/// Joins texts in order. Returns the joined text and those that do not fit.
pub fn compose(pieces: Vec<String>) -> (Option<String>, Vec<String>) {
    let mut whole = String::new();
    let mut left = Vec::new();
    let mut count = 0;
    for piece in pieces {
        let length = piece.chars().count() + 2;
        if count + length <= CONTEXT_MAX || (count == 0 && left.is_empty()) {
            if !whole.is_empty() {
                whole.push_str("\n\n");
            }
            // A single text that is too long is truncated when it is rendered.
            whole.push_str(&piece);
            count += length;
        } else {
            left.push(piece);
        }
    }
    ((!whole.is_empty()).then_some(whole), left)
}

/// The callbacks of all texts in an answer, for the case that it is lost.
#[derive(Default)]
pub struct Receipts {
    pieces: Vec<Box<dyn FnOnce() + Send>>,
    is_over: AtomicBool,
}

impl Receipts {
    pub fn add(&mut self, lost: Option<Box<dyn FnOnce() + Send>>) {
        self.pieces.extend(lost);
    }

    /// Records that the answer was sent.
    pub fn record_sent(self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for Receipts {
    /// An answer that was not sent is lost, because its event was given up.
    fn drop(&mut self) {
        if !self.is_over.load(Ordering::Relaxed) {
            self.pieces.drain(..).for_each(|lost| lost());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Agent;

    #[test]
    fn excess_texts_are_returned() {
        let long = |letter: &str| letter.repeat(5000);
        let (text, left) = compose(vec!["a".to_owned(), long("b"), long("c"), "d".to_owned()]);
        assert_eq!(text, Some(format!("a\n\n{}\n\nd", long("b"))));
        assert_eq!(left, [long("c")]);
        assert!(text.unwrap().chars().count() <= CONTEXT_MAX);
        assert_eq!(compose(Vec::new()), (None, Vec::new()));
        assert_eq!(compose(vec!["ä".repeat(20_000)]).1, Vec::<String>::new());
    }

    #[test]
    fn moments_are_where_context_is_taken() {
        let at = |agent: Agent, name: &str, more: &str| {
            let event = crate::read(agent, name, format!("{{{more}}}").as_bytes());
            moment(&event, agent.row(&event.name))
        };
        for (agent, name, expected) in [
            (Agent::Claude, "SessionStart", Some(Moment::SessionStart)),
            (Agent::Claude, "PreToolUse", Some(Moment::ToolBefore)),
            (Agent::Claude, "Stop", Some(Moment::TurnEnd)),
            (Agent::Claude, "PermissionRequest", None),
            (Agent::Claude, "SubagentStop", None),
            (Agent::Codex, "Stop", Some(Moment::TurnEnd)),
            (Agent::Gemini, "BeforeTool", None),
            (Agent::Gemini, "AfterTool", Some(Moment::ToolAfter)),
            (Agent::Gemini, "AfterAgent", Some(Moment::TurnEnd)),
            (Agent::Cursor, "beforeSubmitPrompt", None),
            (Agent::Copilot, "agentStop", Some(Moment::TurnEnd)),
            (Agent::Claude, "NewEvent", None),
        ] {
            assert_eq!(at(agent, name, ""), expected, "{name}");
        }
        assert_eq!(at(Agent::Claude, "PreToolUse", "\"agent_id\":\"x\""), None);
    }

    #[test]
    fn an_answer_that_nobody_sent_is_lost() {
        let (tell, told) = std::sync::mpsc::channel();
        for sent in [true, false] {
            let mut receipts = Receipts::default();
            let tell = tell.clone();
            receipts.add(Some(Box::new(move || tell.send(sent).unwrap())));
            if sent {
                receipts.record_sent();
            }
        }
        drop(tell);
        assert_eq!(told.iter().collect::<Vec<_>>(), [false]);
    }
}

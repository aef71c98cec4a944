//! What is added to an agent's context at an event, and whether the agent is held at its turn's end for it.
//!
//! What there is to say is known by others, by the trait [`Around`]; this decides when it is asked for ([`At`]), puts it into
//! one text that agents take whole ([`compose`]), and keeps what an event cannot take for the next one that can
//! ([`Sessions`]). Where nobody has anything to say, nothing is said.

mod breaker;
mod sessions;

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use project::Caller;

pub use self::breaker::Bounds;
pub use self::sessions::{Sessions, TurnEnd};
use crate::agents::Row;
use crate::event::{Event, Kind};

/// The most characters of a context: agents cut what is longer, or put it into a file.
pub const CONTEXT_MAX: usize = 9500;

/// When something can be said to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    SessionStart,
    Prompt,
    ToolBefore,
    ToolAfter,
    /// What is said then holds the agent, which reads it and goes on.
    TurnEnd,
}

/// What an agent knows of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// It begins: what was said to it before is still there.
    Begins,
    /// It has lost what was said to it.
    Lost,
    /// It goes on.
    Whole,
}

/// A moment, and what the agent knows then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    pub moment: Moment,
    pub memory: Memory,
}

/// Something to say.
pub struct Piece {
    /// Who says it, for the journal.
    pub from: &'static str,
    /// Facts, and what comes from outside framed as data.
    pub text: String,
    /// True if it is worth holding an agent that is about to stop.
    pub holds: bool,
    /// To be called if the answer that it was in is lost.
    pub lost: Option<Box<dyn FnOnce() + Send>>,
}

/// A future of [`Around`].
pub type Saying<'a> = Pin<Box<dyn Future<Output = Vec<Piece>> + Send + 'a>>;

/// Those who may have something to say. The agent's connection, as far as there is one, is the caller.
pub trait Around: Send + Sync {
    /// What there is to say to an agent, as far as that is known within this time. What is handed over counts as said,
    /// unless it is lost.
    fn said<'a>(&'a self, agent: &'a Caller, at: At, within: Duration) -> Saying<'a>;

    /// The agent is heard of: what was said to it before has arrived.
    fn heard_of(&self, agent: &Caller);
}

/// The moment that an event is; `None` for one at which nothing is added. What is said in a subagent's events reaches only
/// the subagent, which has no mail and asked nothing.
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

/// One text of several, in their order; what does not fit is given back.
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
            // One that is too long by itself is cut where it is rendered.
            whole.push_str(&piece);
            count += length;
        } else {
            left.push(piece);
        }
    }
    ((!whole.is_empty()).then_some(whole), left)
}

/// Whether an answer was lost, told once to all pieces that were in it.
#[derive(Default)]
pub struct Receipts {
    pieces: Vec<Box<dyn FnOnce() + Send>>,
    is_over: AtomicBool,
}

impl Receipts {
    pub fn add(&mut self, lost: Option<Box<dyn FnOnce() + Send>>) {
        self.pieces.extend(lost);
    }

    /// The answer left.
    pub fn left(self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for Receipts {
    /// An answer that nobody sent is lost: its event was given up.
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
    fn what_does_not_fit_is_given_back() {
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
                receipts.left();
            }
        }
        drop(tell);
        assert_eq!(told.iter().collect::<Vec<_>>(), [false]);
    }
}

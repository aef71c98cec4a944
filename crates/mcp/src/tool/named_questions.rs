//! Named questions: their answers reach the tool even if the call that asked waits no longer.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{Ask, AskError, AskResponse};

/// The name on the wire of a question that is asked alone.
pub(super) const ONLY: &str = "answer";

/// The name of a question, and how long its call waits for the answer ([`Context::ask_as`](super::Context::ask_as)).
#[derive(Debug, Clone)]
pub struct NamedAsk {
    /// The name.
    pub name: String,
    /// When the call waits no longer.
    pub until: Instant,
}

/// The answer to a named question for which the tool is called again, because the call that asked no longer waits
/// ([`Context::resumed`](super::Context::resumed)).
#[derive(Debug)]
pub struct Resumed {
    name: String,
    responses: Map<String, Value>,
    /// True if a question of this call has taken the answer.
    taken: AtomicBool,
}

impl Resumed {
    pub(crate) fn new(name: String, responses: Map<String, Value>) -> Resumed {
        Resumed { name, responses, taken: AtomicBool::new(false) }
    }

    /// Returns the name of the question.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the answer, parsed for this question. Fails without an answer, or if it does not match.
    pub fn answer(&self, ask: &Ask) -> Result<AskResponse, AskError> {
        let response = self.responses.get(ONLY).ok_or(AskError::Unanswered)?;
        ask.parse_response(response.clone()).map_err(AskError::Refused)
    }

    /// Returns the answer for a question of this name, once.
    pub(super) fn take(&self, name: &str, ask: &Ask) -> Option<AskResponse> {
        let answer = self.answer(ask).ok().filter(|_| name == self.name)?;
        (!self.taken.swap(true, Ordering::Relaxed)).then_some(answer)
    }
}

//! What the agent may have been handed of its mail without hearing it: the next daemon is told, and hands it out again.
//!
//! Besides answers that were lost with a daemon these are answers that the agent gave up: a client that cancels a call
//! drops the answer that is on its way. The daemon that gave the answer hears of that itself; the next one would not.

use mcp::wire::Id;

use super::peek;

#[derive(Debug, Default)]
pub(super) struct Unheard {
    /// The last answer to a call that takes mail, and the first message in it.
    last: Option<(Id, Option<String>)>,
    /// Such a call was given up when this many lines had come; no later one was answered since.
    given_up: Option<u64>,
}

impl Unheard {
    /// The agent got the answer to a call that takes mail, which came as the `seq`th line.
    pub(super) fn answered(&mut self, seq: u64, id: &Id, line: &[u8]) {
        if self.given_up.is_some_and(|at| seq >= at) {
            // To begin with, that call had settled everything before it.
            self.given_up = None;
        }
        self.last = Some((id.clone(), peek::first_message(line)));
    }

    /// The agent cancelled a call, of which this was the line if it had no answer yet. So many lines had come.
    pub(super) fn cancelled(&mut self, id: &Id, unanswered: Option<&[u8]>, arrived: u64) {
        let is_late = self.last.as_ref().is_some_and(|(last, _)| last == id);
        match unanswered {
            Some(line) if peek::takes_mail(line) => self.given_up = Some(arrived),
            None if is_late => {
                self.last = None;
                self.given_up = Some(arrived);
            }
            _ => {}
        }
    }

    /// Whether an answer with mail was given up, as far as is known.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.is_some()
    }

    /// The first message of the last answer that the agent got. While it is not confirmed, no later call has run.
    pub(super) fn last_message(&self) -> Option<String> {
        self.last.as_ref().and_then(|(_, message)| message.clone())
    }
}

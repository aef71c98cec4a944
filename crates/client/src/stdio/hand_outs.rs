//! What calls have handed out in answers that the agent may not have got. The next daemon is told, and hands it out
//! again.
//!
//! Answers are lost with a daemon, or given up: a client that cancels a call drops the answer that is on its way. The
//! daemon that gave that answer sees the cancellation; the next daemon would not.

use mcp::wire::Id;

use super::peek;

#[derive(Debug, Default)]
pub(super) struct HandOuts {
    /// The last answer to such a call, and what it named as its receipt.
    last: Option<(Id, Option<String>)>,
    /// How many lines had come then.
    last_at: u64,
    /// After how many lines such a call was given up, while no later one has been answered.
    given_up: Option<u64>,
}

impl HandOuts {
    /// The agent got the answer to such a call, which came as the `seq`th line; `arrived` lines had come by then. `receipt` is
    /// the field of it that names what was handed out.
    pub(super) fn answered(&mut self, seq: u64, arrived: u64, id: &Id, line: &[u8], receipt: &str) {
        self.last_at = arrived;
        if self.given_up.is_some_and(|at| seq >= at) {
            // To begin with, that call had settled everything before it.
            self.given_up = None;
        }
        self.last = Some((id.clone(), peek::text_of(line, receipt)));
    }

    /// The agent cancelled a call after `arrived` lines; `is_open` if the call had no answer yet and may hand something
    /// out.
    pub(super) fn cancelled(&mut self, id: &Id, is_open: bool, arrived: u64) {
        let is_late = self.last.as_ref().is_some_and(|(last, _)| last == id);
        if is_late {
            self.last = None;
        }
        if is_open || is_late {
            self.given_up = Some(arrived);
        }
    }

    /// Whether such an answer was given up, as far as is known.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.is_some()
    }

    /// The receipt of the last answer that the agent got. While the agent has not gone on from there, no later call has run.
    /// That says nothing where one of the `lost` ones (by their order) was made before that answer came, or there are several.
    pub(super) fn last_receipt(&self, lost: &[u64]) -> Option<String> {
        if lost.len() > 1 || lost.iter().any(|seq| *seq < self.last_at) {
            return None;
        }
        self.last.as_ref().and_then(|(_, receipt)| receipt.clone())
    }
}

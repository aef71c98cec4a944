//! What was handed out in answers that the agent may not have received. The next daemon is told, and hands it out
//! again.
//!
//! Answers are lost with a daemon, or dropped: a client that cancels a call drops the answer on its way. The daemon
//! that gave the answer sees the cancellation; the next daemon would not.

use mcp::wire::Id;

use super::peek;

#[derive(Debug, Default)]
pub(super) struct HandOuts {
    /// The last answer that handed something out, and its receipt.
    last: Option<(Id, Option<String>)>,
    /// How many lines had arrived by then.
    last_at: u64,
    /// After how many lines a call that hands something out was cancelled, unless a later one was answered.
    given_up: Option<u64>,
}

impl HandOuts {
    /// The agent received the answer to a call that hands something out. The call was line `seq`; `arrived` lines had
    /// come by then. `receipt` is the field of the answer that names what was handed out.
    pub(super) fn answered(&mut self, seq: u64, arrived: u64, id: &Id, line: &[u8], receipt: &str) {
        self.last_at = arrived;
        if self.given_up.is_some_and(|at| seq >= at) {
            // That call confirmed everything handed out before it.
            self.given_up = None;
        }
        self.last = Some((id.clone(), peek::text_of(line, receipt)));
    }

    /// The agent cancelled a call after `arrived` lines. `is_open`: the call had no answer yet and may hand something
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

    /// Returns true if such an answer may have been dropped.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.is_some()
    }

    /// Returns the receipt of the last answer that the agent received. While the agent has not gone on from there, no
    /// later call has run. Nothing is certain if one of the `lost` calls (by their order) was made before that answer
    /// arrived, or if there are several.
    pub(super) fn last_receipt(&self, lost: &[u64]) -> Option<String> {
        if lost.len() > 1 || lost.iter().any(|seq| *seq < self.last_at) {
            return None;
        }
        self.last.as_ref().and_then(|(_, receipt)| receipt.clone())
    }
}

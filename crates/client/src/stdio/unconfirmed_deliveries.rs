//! Tracks items delivered in answers that the agent may not have received. The next daemon is told, and delivers them
//! again.
//!
//! Answers are lost with a daemon, or dropped: a client that cancels a call drops the answer in transit. The daemon
//! that gave the answer sees the cancellation; the next daemon would not.

use mcp::wire::Id;

use super::peek;

#[derive(Debug, Default)]
pub(super) struct HandOuts {
    /// The last answer that delivered something, and its receipt.
    last: Option<(Id, Option<String>)>,
    /// The number of lines that had arrived by then.
    last_at: u64,
    /// The number of lines after which a delivering call was cancelled, unless a later one was answered.
    given_up: Option<u64>,
}

impl HandOuts {
    /// Records that the agent received the answer to a delivering call. The call was line `seq`; `arrived` lines had
    /// come by then. `receipt` is the field of the answer that identifies the delivery.
    pub(super) fn answered(&mut self, seq: u64, arrived: u64, id: &Id, line: &[u8], receipt: &str) {
        self.last_at = arrived;
        if self.given_up.is_some_and(|at| seq >= at) {
            // That call confirmed all earlier deliveries.
            self.given_up = None;
        }
        self.last = Some((id.clone(), peek::text_of(line, receipt)));
    }

    /// Records that the agent cancelled a call after `arrived` lines. `is_open`: the call had no answer yet and may
    /// deliver something.
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

    /// Returns the receipt of the last answer that the agent received. If the agent has not gone on from there, no
    /// later call has run. Nothing is certain if one of the `lost` calls (by their order) was made before that answer
    /// arrived, or if there are several.
    pub(super) fn last_receipt(&self, lost: &[u64]) -> Option<String> {
        if lost.len() > 1 || lost.iter().any(|seq| *seq < self.last_at) {
            return None;
        }
        self.last.as_ref().and_then(|(_, receipt)| receipt.clone())
    }
}

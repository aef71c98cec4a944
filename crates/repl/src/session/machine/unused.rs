//! Ends an evaluation that no caller uses any more: an interrupt, so that it can clean up, then the end of the session.

use std::time::{Duration, Instant};

use super::interrupting::{GIVE_UP, InterruptRequest};
use super::{Machine, Phase, minutes};

impl Machine {
    /// Handles a session that was unused for the given time.
    pub(super) fn unused(&mut self, away: Duration, now: Instant) {
        let Some(idle) = self.bounds.idle.filter(|idle| away >= *idle) else { return };
        if self.ending.is_some() {
            return;
        }
        if let Some(begun) = self.abandoned {
            if now >= begun + GIVE_UP {
                self.end_unused();
            }
            return;
        }
        let Some(eval) = self.current() else { return };
        self.abandoned = Some(now);
        self.records.running(eval).notes.push(format!(
            "No connection used the session for {}, so it was interrupted (`repl.idle` sets the time).",
            minutes(idle)
        ));
        // An evaluation that was interrupted before, and continues, is not interrupted again.
        if let Phase::Running(run) = &mut self.phase
            && run.asked.is_none()
        {
            run.asked = Some(InterruptRequest::new(None, Some(now), now));
            self.interrupting_tick(now);
        }
    }

    /// Ends the session once the evaluation has ended, or does not.
    pub(super) fn end_unused(&mut self) {
        let idle = self.bounds.idle.unwrap_or_default();
        self.stop(format!("no connection used it for {}", minutes(idle)), true);
    }
}

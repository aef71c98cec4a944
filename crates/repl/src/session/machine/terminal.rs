//! A program on a terminal. It prints no markers: it has reacted to keys once the kernel says that it waits for others.
//! Keys are typed at once, also while the program is busy, as a person would.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::super::Stream;
use super::super::handle::Claim;
use super::running_evaluation::QUIET;
use super::{Action, Machine, Owner, Phase, Probed, Waiter};

impl Machine {
    pub(super) fn has_terminal(&self) -> bool {
        self.adapter.window().is_some()
    }

    /// Handles output: the program is busy. The screen shows it.
    pub(super) fn note_output(&mut self, stream: Stream, now: Instant) -> Owner {
        match &mut self.phase {
            Phase::Starting { look_at, .. } => *look_at = Some(now + QUIET),
            Phase::Running(run) => run.record_output(stream, now),
            Phase::Idle { .. } | Phase::Syncing(_) | Phase::Ended { .. } => {}
        }
        Owner::Nobody
    }

    /// Types into a program that is busy: its evaluation goes on. Returns false if the program is not busy.
    pub(super) fn type_more(&mut self, keys: &[u8], claim: &Arc<Claim>, waiter: Waiter, now: Instant) -> bool {
        let Phase::Running(run) = &mut self.phase else { return false };
        let eval = run.eval;
        run.look_later(now);
        claim.eval.store(eval, Ordering::Release);
        self.waiters.push((eval, waiter));
        self.actions.push(Action::Feed(keys.to_vec()));
        true
    }

    /// Handles the kernel's answer, which does not count if the program has printed or was given keys meanwhile.
    pub(super) fn terminal_probed(&mut self, probed: &Probed, now: Instant) {
        // The kernel cannot say if a program waits that watches its terminal all the time.
        let waits = matches!(probed, Probed::Waiting | Probed::Replaced(_) | Probed::Unknown);
        match &mut self.phase {
            Phase::Starting { look_at: look_at @ None, .. } => match waits {
                true => self.started(now),
                false => *look_at = Some(now + QUIET),
            },
            Phase::Running(run) => {
                let (eval, asked, is_present) = (run.eval, run.asked.is_some(), run.has_looked(now));
                match (waits, asked) {
                    _ if !is_present => {}
                    (true, true) => self.conclude(None, false, now),
                    (true, false) => self.finish(eval, None, now),
                    // This records what the program does.
                    (false, _) => {
                        self.interrupting_probed(probed, now);
                    }
                }
            }
            _ => {}
        }
    }
}

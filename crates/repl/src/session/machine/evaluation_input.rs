//! Input of the running evaluation: when it is handed over, and the unread rest.

use std::time::{Duration, Instant};

use super::super::InputOutcome;
use super::super::handle::SessionError;
use super::running_evaluation::Run;
use super::{Action, Machine, Phase, Waiter};
use crate::adapter::GivenInput;
use crate::result::Status;

/// The amount of input handed over at once: a pipe holds twice as much.
const CHUNK: usize = 32 * 1024;
/// The time in which a program is scheduled again after the end of its input.
const TOLD: Duration = Duration::from_secs(2);

impl Run {
    /// Returns true if there is input that the program has not asked for yet.
    pub(super) fn has_input(&self) -> bool {
        !self.input.is_empty() || self.close_input
    }

    pub(super) fn pending(&self) -> usize {
        self.unread + self.input.iter().map(Vec::len).sum::<usize>()
    }

    /// Returns the next input to hand over.
    fn next_input(&mut self) -> Option<Vec<u8>> {
        let mut next = self.input.pop_front()?;
        while let Some(line) = self.input.front().filter(|line| self.bulk && next.len() + line.len() <= CHUNK) {
            next.extend_from_slice(line);
            self.input.pop_front();
        }
        self.handed.clone_from(&next);
        Some(next)
    }

    /// Requeues the last `count` bytes handed over for the next piece: the program did not read them.
    pub(super) fn take_back(&mut self, count: usize) {
        if self.whole {
            self.unread = count;
            return;
        }
        let from = self.handed.len().saturating_sub(count);
        let unread = self.handed.split_off(from);
        self.handed.clear();
        if !unread.is_empty() {
            for line in unread.split_inclusive(|&byte| byte == b'\n').rev() {
                self.input.push_front(line.to_vec());
            }
        }
    }

    pub(super) fn push_input(&mut self, text: &str) {
        self.input.extend(text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()));
    }
}

impl Machine {
    /// Handles a request for input: sends the next line, or reports to the waiters that the program waits.
    pub(super) fn feed(&mut self, now: Instant) {
        let Phase::Running(run) = &mut self.phase else { return };
        let eval = run.eval;
        if let Some(line) = run.next_input() {
            run.fed = true;
            run.waiting = false;
            run.probe_soon(now);
            self.records.running(eval).status = Status::Running;
            return self.actions.push(Action::Feed(line));
        }
        if run.close_input {
            run.close_input = false;
            run.waiting = false;
            run.fed = true;
            run.closed = Some(now);
            return self.actions.push(Action::CloseStdin);
        }
        // On a busy machine the program may not yet know of the end, and is seen in the read that will return it.
        let is_told = run.closed.is_none_or(|closed| now.duration_since(closed) >= TOLD);
        if !run.waiting && is_told {
            run.waiting = true;
            let record = self.records.running(eval);
            record.status = Status::WaitingForInput;
            if let (true, GivenInput::Endless(note)) = (run.bulk, self.adapter.input())
                && record.notes.last().is_none_or(|last| last != note)
            {
                record.notes.push(note.to_owned());
            }
            self.answer(eval);
            self.answer_queued();
        }
    }

    pub(super) fn input(&mut self, eval: Option<u64>, text: String, eof: bool, waiter: Waiter, now: Instant) {
        if let Some(error) = self.not_running_error(eval).or_else(|| self.has_ended()) {
            return self.actions.push(Action::Refuse { waiter, error });
        }
        let Phase::Running(run) = &mut self.phase else {
            let error = SessionError::NothingRuns { session: self.name.clone() };
            return self.actions.push(Action::Refuse { waiter, error });
        };
        if run.whole {
            let error = SessionError::HasItsInput { session: self.name.clone(), eval: run.eval };
            return self.actions.push(Action::Refuse { waiter, error });
        }
        run.push_input(&text);
        run.close_input |= eof;
        run.waiting = false;
        run.probe_soon(now);
        let input = InputOutcome { eval: run.eval, pending: run.pending(), closed: eof };
        let record = self.records.running(input.eval);
        record.status = Status::Running;
        if let GivenInput::Endless(note) = self.adapter.input() {
            record.notes.retain(|known| known != note);
        }
        self.actions.push(Action::Accept { waiter, input });
    }
}

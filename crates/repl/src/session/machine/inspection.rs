//! Read access to the machine. Changes nothing, except for the records that the actor completes.

use std::sync::atomic::Ordering;

use super::super::{SessionState, Stream};
use super::{EvalRecord, Machine, Phase, Queued, Waiter};
use crate::adapter::Adapter;
use crate::result::{Completion, Status};

impl Machine {
    pub(in super::super) fn state(&self) -> SessionState {
        match &self.phase {
            Phase::Starting { .. } => SessionState::Starting,
            Phase::Idle { .. } if self.straggler.is_some() => SessionState::Uninterruptible,
            Phase::Idle { .. } => SessionState::Idle,
            Phase::Running(run) if run.asked.is_some() => run.asked_state(),
            Phase::Running(run) if run.is_waiting() => SessionState::WaitingForInput,
            Phase::Running(_) => SessionState::Running,
            Phase::Syncing(sync) => sync.state(),
            Phase::Ended { stopped: true, .. } => SessionState::Stopped,
            Phase::Ended { status: Status::Exited, .. } => SessionState::Exited,
            Phase::Ended { status: Status::Crashed, .. } => SessionState::Crashed,
            Phase::Ended { .. } => SessionState::Killed,
        }
    }

    pub(in super::super) fn adapter(&self) -> &dyn Adapter {
        &*self.adapter
    }

    /// Returns true if the first prompt ever came.
    pub(in super::super) fn prompted(&self) -> bool {
        self.prompted
    }

    /// Returns how the process ended, if it has.
    pub(in super::super) fn reason(&self) -> Option<&str> {
        match &self.phase {
            Phase::Ended { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Returns the running evaluation.
    pub(in super::super) fn current(&self) -> Option<u64> {
        match &self.phase {
            Phase::Running(run) => Some(run.eval),
            Phase::Syncing(sync) => sync.eval(),
            _ => None,
        }
    }

    pub(in super::super) fn queue_depth(&self) -> usize {
        self.queue.iter().filter(|queued| !queued.claim.withdrawn.load(Ordering::Acquire)).count()
    }

    /// Returns the number of evaluations queued behind this one.
    pub(in super::super) fn waiting_behind(&self, eval: u64) -> usize {
        let waits = |queued: &&Queued| queued.eval > eval && !queued.claim.withdrawn.load(Ordering::Acquire);
        self.queue.iter().filter(waits).count()
    }

    /// Returns the number of evaluations queued before this one.
    pub(in super::super) fn queued_before(&self, eval: u64) -> usize {
        let waits = |queued: &&Queued| queued.eval < eval && !queued.claim.withdrawn.load(Ordering::Acquire);
        self.queue.iter().filter(waits).count()
    }

    /// Returns the callers that asked for the answer to this evaluation, and may have stopped waiting since.
    pub(in super::super) fn waiters_of(&self, eval: u64) -> impl Iterator<Item = Waiter> + '_ {
        self.waiters.iter().filter(move |(waited, _)| *waited == eval).map(|(_, waiter)| *waiter)
    }

    pub(in super::super) fn finished(&self) -> u64 {
        self.records.finished()
    }

    pub(in super::super) fn record(&self, eval: u64) -> Option<&EvalRecord> {
        self.records.get(eval)
    }

    /// Returns the record, for the actor to add its measurements.
    pub(in super::super) fn record_mut(&mut self, eval: u64) -> Option<&mut EvalRecord> {
        self.records.get_mut(eval)
    }

    /// Returns the code that gives a new process the same definitions, oldest first.
    pub(in super::super) fn history(&self) -> Vec<String> {
        self.history.iter().cloned().collect()
    }

    pub(in super::super) fn completion(&self) -> Completion {
        self.completion
    }

    pub(in super::super) fn prompt(&self) -> String {
        self.adapter.prompt(&self.payload)
    }

    pub(in super::super) fn banner(&self, stream: Stream) -> String {
        String::from_utf8_lossy(&self.banner[stream as usize].bytes().0).into_owned()
    }

    /// Returns the language's version, if the banner contains it.
    pub(in super::super) fn version(&self) -> Option<String> {
        self.adapter.version(&self.banner(Stream::Stdout))
    }

    /// Returns true if subscribers may see it: a caller's evaluation, or output of no evaluation.
    pub(in super::super) fn is_public(&self, eval: Option<u64>) -> bool {
        eval.and_then(|eval| self.records.get(eval)).is_none_or(|record| !record.quiet)
    }
}

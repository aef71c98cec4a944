//! The records of evaluations: all that run or wait, and the last few that have ended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::capture::Capture;
use crate::adapter::Verdict;
use crate::numbers::EvalNumbers;
use crate::result::Status;

/// The number of ended evaluations kept.
const REMEMBERED: usize = 64;
/// The number of ended evaluations that keep all of their captured output.
const FRESH: usize = 4;
/// The maximum number of readers recorded per evaluation.
const READERS: usize = 64;

/// One evaluation.
#[derive(Debug)]
pub(in super::super) struct EvalRecord {
    pub(in super::super) code: String,
    pub(in super::super) quiet: bool,
    pub(in super::super) status: Status,
    pub(in super::super) started: Option<Instant>,
    pub(in super::super) ended: Option<Instant>,
    pub(in super::super) output: [Capture; 2],
    pub(in super::super) between: [Capture; 2],
    pub(in super::super) notes: Vec<String>,
    pub(in super::super) verdict: Verdict,
    /// The payload of its own last marker; the markers of barriers come later.
    pub(in super::super) payload: String,
    /// The amount of standard error before the first signal.
    pub(in super::super) signalled_at: Option<u64>,
    /// The REPL's own messages, see [`crate::adapter::StderrPayload`].
    pub(in super::super) reports: Vec<String>,
    /// True if some of these may be missing.
    pub(in super::super) unheard: bool,
    pub(in super::super) stopped: bool,
    /// The session's processor time at its start, if known.
    pub(in super::super) cpu_from: Option<Duration>,
    /// The processor time it used.
    pub(in super::super) cpu: Option<Duration>,
    /// The log's byte counts at its start, per stream.
    pub(in super::super) logged: [u64; 2],
    pub(in super::super) given: DeliveredBytes,
}

/// The amount of an evaluation's output that each reader received while it ran, per stream.
#[derive(Debug, Default)]
pub(in super::super) struct DeliveredBytes(Vec<(u64, [u64; 2])>);

impl DeliveredBytes {
    pub(in super::super) fn for_reader(&self, reader: u64) -> Option<[u64; 2]> {
        self.0.iter().find(|(known, _)| *known == reader).map(|(_, given)| *given)
    }

    /// Records the amount; `None` if the reader knows of the end, since later requests of that reader want all output.
    pub(in super::super) fn set(&mut self, reader: u64, given: Option<[u64; 2]>) {
        self.0.retain(|(known, _)| *known != reader);
        self.0.extend(given.map(|given| (reader, given)));
        if self.0.len() > READERS {
            self.0.remove(0);
        }
    }
}

#[derive(Debug)]
pub(super) struct EvalRecords {
    /// Shared by all sessions, so that a number alone identifies an evaluation.
    numbers: Arc<EvalNumbers>,
    evals: BTreeMap<u64, EvalRecord>,
    /// Ended evaluations that are kept, the oldest first.
    past: VecDeque<u64>,
    ended: u64,
}

impl EvalRecords {
    pub(super) fn new(numbers: Arc<EvalNumbers>) -> EvalRecords {
        EvalRecords { numbers, evals: BTreeMap::new(), past: VecDeque::new(), ended: 0 }
    }

    pub(super) fn add(&mut self, code: String, quiet: bool, status: Status) -> u64 {
        let eval = self.numbers.take();
        let record = EvalRecord {
            code,
            quiet,
            status,
            started: None,
            ended: None,
            output: [Capture::new(), Capture::new()],
            between: [Capture::new(), Capture::new()],
            notes: Vec::new(),
            verdict: Verdict::default(),
            payload: String::new(),
            signalled_at: None,
            reports: Vec::new(),
            unheard: false,
            stopped: false,
            cpu_from: None,
            cpu: None,
            logged: [0; 2],
            given: DeliveredBytes::default(),
        };
        self.evals.insert(eval, record);
        eval
    }

    pub(super) fn get(&self, eval: u64) -> Option<&EvalRecord> {
        self.evals.get(&eval)
    }

    pub(super) fn get_mut(&mut self, eval: u64) -> Option<&mut EvalRecord> {
        self.evals.get_mut(&eval)
    }

    /// Returns the record of an evaluation that has not ended, and therefore exists.
    pub(super) fn running(&mut self, eval: u64) -> &mut EvalRecord {
        self.evals.get_mut(&eval).expect("only ended evaluations are forgotten")
    }

    pub(super) fn forget(&mut self, eval: u64) {
        self.evals.remove(&eval);
    }

    /// Returns the last evaluation that a caller requested. It skips one that was withdrawn before it began, which another caller cannot mean.
    pub(super) fn last(&self) -> Option<u64> {
        let asked = || self.evals.iter().rev().filter(|(_, record)| !record.quiet);
        let was_withdrawn = |record: &EvalRecord| record.started.is_none() && record.status == Status::Interrupted;
        let last = asked().find(|(_, record)| !was_withdrawn(record)).or_else(|| asked().next());
        last.map(|(eval, _)| *eval)
    }

    pub(super) fn finished(&self) -> u64 {
        self.ended
    }

    /// Records the end of an evaluation, and forgets those that are too old.
    pub(super) fn end(&mut self, eval: u64, status: Status, now: Instant) {
        let record = self.running(eval);
        record.status = status;
        record.ended = Some(now);
        self.ended += u64::from(!record.quiet);
        self.past.push_back(eval);
        let stale = self.past.len().checked_sub(FRESH + 1).and_then(|index| self.past.get(index));
        if let Some(stale) = stale.and_then(|eval| self.evals.get_mut(eval)) {
            stale.output.iter_mut().chain(&mut stale.between).for_each(Capture::shrink);
        }
        while self.past.len() > REMEMBERED {
            self.past.pop_front().map(|eval| self.evals.remove(&eval));
        }
    }
}

//! The last evaluations of a session: their code and outcome. Their output stays in the session's log.

use std::collections::VecDeque;
use std::time::Duration;

use crate::result::Status;
use crate::session::SessionEvent;

/// The number of evaluations kept.
const KEPT: usize = 100;
/// The limit of each evaluation's code, in bytes.
const CODE_MAX: usize = 4000;

#[derive(Debug, Clone, Default)]
pub(super) struct Transcript {
    pub(super) evals: VecDeque<TranscriptEntry>,
    /// The number of evaluations forgotten.
    pub(super) forgotten: u64,
}

#[derive(Debug, Clone)]
pub(super) struct TranscriptEntry {
    pub(super) number: u64,
    pub(super) code: String,
    /// The outcome of the evaluation and its run time.
    pub(super) ended: Option<(Status, Duration)>,
}

impl Transcript {
    pub(super) fn record(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::EvalStarted { eval, code } => {
                if self.evals.len() == KEPT {
                    self.evals.pop_front();
                    self.forgotten += 1;
                }
                let mut code = code.clone();
                if code.len() > CODE_MAX {
                    code.truncate((0..=CODE_MAX).rev().find(|at| code.is_char_boundary(*at)).unwrap_or(0));
                    code.push('…');
                }
                self.evals.push_back(TranscriptEntry { number: *eval, code, ended: None });
            }
            SessionEvent::EvalFinished { eval, status, duration, .. } => {
                if let Some(ended) = self.evals.iter_mut().rev().find(|known| known.number == *eval) {
                    ended.ended = Some((*status, *duration));
                }
            }
            SessionEvent::Started | SessionEvent::Output { .. } | SessionEvent::Ended { .. } => {}
        }
    }
}

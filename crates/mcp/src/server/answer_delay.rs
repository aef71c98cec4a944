//! Separates a call's last progress from its answer. Some clients forget a progress token as soon as the answer arrives
//! and then fail on progress that came in the same read. So the answer waits until the peer has read the progress, and
//! a moment longer; other calls are not delayed.

use std::time::Duration;

use tokio::time::Instant;

/// The pause between progress and answer: long enough for one turn of a client's event loop.
const GAP: Duration = Duration::from_millis(2);

/// The interval of checks whether the peer has read.
const RECHECK: Duration = Duration::from_millis(1);

/// Progress older than this counts as read.
pub(super) const SETTLED: Duration = Duration::from_millis(250);

/// Answers that wait for their progress to be read.
pub(super) struct HeldAnswers {
    answers: Vec<(Vec<u8>, Stage)>,
    bytes: usize,
    /// The longest wait for the peer to read progress that is written.
    max_wait: Duration,
}

enum Stage {
    /// The progress, which ends at this offset, is not written yet.
    Writing(u64),
    /// The progress is written, and not known to be read.
    Reading {
        since: Instant,
        look: Instant,
    },
    Gap {
        until: Instant,
    },
}

impl HeldAnswers {
    pub(super) fn new(max_wait: Duration) -> HeldAnswers {
        HeldAnswers { answers: Vec::new(), bytes: 0, max_wait }
    }

    /// Holds an answer whose progress ends at this offset of the output.
    pub(super) fn push(&mut self, answer: Vec<u8>, progress_end: u64) {
        self.bytes += answer.len();
        self.answers.push((answer, Stage::Writing(progress_end)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Moves answers that are due to the output, given the number of `written` bytes.
    pub(super) fn release(&mut self, out: &mut Vec<u8>, written: u64, drained: impl Fn() -> Option<bool>) {
        if self.answers.is_empty() {
            return;
        }
        let now = Instant::now();
        // One check of the peer is used for all answers.
        let drained = drained();
        self.answers.retain_mut(|(answer, stage)| {
            loop {
                match stage {
                    Stage::Writing(end) if written >= *end => *stage = Stage::Reading { since: now, look: now },
                    Stage::Reading { since, .. } if drained != Some(false) || now >= *since + self.max_wait => {
                        *stage = Stage::Gap { until: now + GAP };
                    }
                    Stage::Reading { look, .. } if now >= *look => {
                        *look = now + RECHECK;
                        return true;
                    }
                    Stage::Gap { until } if now >= *until => {
                        self.bytes -= answer.len();
                        out.extend_from_slice(answer);
                        return false;
                    }
                    _ => return true,
                }
            }
        });
    }

    /// Moves all answers to the output at once.
    pub(super) fn release_all(&mut self, out: &mut Vec<u8>) {
        self.bytes = 0;
        self.answers.drain(..).for_each(|(answer, _)| out.extend_from_slice(&answer));
    }

    /// Returns the time of the next check, if time alone can release an answer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.answers
            .iter()
            .filter_map(|(_, stage)| match stage {
                Stage::Writing(_) => None,
                Stage::Reading { look, .. } => Some(*look),
                Stage::Gap { until } => Some(*until),
            })
            .min()
    }
}

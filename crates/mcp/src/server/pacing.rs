//! Keeps a call's last progress and its answer apart. Some clients forget a call's progress token as soon as its
//! answer arrives and then choke on progress that came in the same read; so the answer waits until the peer has read
//! the progress, and a moment longer. The traffic of other calls goes on meanwhile.

use std::time::Duration;

use tokio::time::Instant;

/// The moment in between: long enough for a client's event loop to turn.
const GAP: Duration = Duration::from_millis(2);

/// How often to look whether the peer has read.
const RECHECK: Duration = Duration::from_millis(1);

/// Progress older than this has been dealt with.
pub(super) const SETTLED: Duration = Duration::from_millis(250);

/// Answers that wait for their progress to be read.
pub(super) struct HeldAnswers {
    answers: Vec<(Vec<u8>, Stage)>,
    bytes: usize,
    /// How long to wait for a peer to read, at most, once the progress is written.
    max_wait: Duration,
}

enum Stage {
    /// The progress is not written up to here yet.
    Writing(u64),
    /// Written; the peer has not read it, as far as is known.
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

    /// Keeps an answer whose progress ends at this offset of the output.
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

    /// Moves what may go to the output. `written` is how far the output was written.
    pub(super) fn release(&mut self, out: &mut Vec<u8>, written: u64, drained: impl Fn() -> Option<bool>) {
        if self.answers.is_empty() {
            return;
        }
        let now = Instant::now();
        // What is known of the peer is known for all of them.
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

    /// Lets everything go at once: waiting has no more point.
    pub(super) fn release_all(&mut self, out: &mut Vec<u8>) {
        self.bytes = 0;
        self.answers.drain(..).for_each(|(answer, _)| out.extend_from_slice(&answer));
    }

    /// When to look again, if time alone can change anything.
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

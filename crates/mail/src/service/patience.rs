//! Sitting through a store that is away for a moment: a database that restarts gives nobody who waits an error, and one
//! that is gone is told.

use std::time::Duration;

use tokio::time::Instant;

/// How long it is worth sitting through.
const AWAY: Duration = Duration::from_secs(15);
/// How long to let pass before the next try, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// How long something is tried again.
pub(super) struct Patience {
    end: Instant,
    pause: Duration,
}

impl Patience {
    /// As long as it is worth it, but not beyond the deadline.
    pub(super) fn until(deadline: Instant) -> Patience {
        Patience { end: deadline.min(Instant::now() + AWAY), pause: PAUSES[0] }
    }

    /// From now on for so long at least.
    pub(super) fn extend(&mut self, least: Duration) {
        self.end = self.end.max(Instant::now() + least);
    }

    /// Lets some time pass, more each time. False, at once: it is at its end.
    pub(super) async fn again(&mut self) -> bool {
        let next = Instant::now() + self.pause;
        if next >= self.end {
            return false;
        }
        tokio::time::sleep_until(next).await;
        self.pause = (self.pause * 2).min(PAUSES[1]);
        true
    }
}

//! Retrying while a store is briefly unavailable: waiters survive a restart of the database, and learn of one that
//! stays away.

use std::time::Duration;

use tokio::time::Instant;

/// The longest time to retry.
const AWAY: Duration = Duration::from_secs(15);
/// How long to let pass before the next try, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// How long something is tried again.
pub(super) struct Patience {
    end: Instant,
    pause: Duration,
}

impl Patience {
    /// Never beyond the deadline.
    pub(super) fn until(deadline: Instant) -> Patience {
        Patience { end: deadline.min(Instant::now() + AWAY), pause: PAUSES[0] }
    }

    /// From now on for so long at least.
    pub(super) fn extend(&mut self, least: Duration) {
        self.end = self.end.max(Instant::now() + least);
    }

    /// Pauses, longer each time. False, at once: the time is up.
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

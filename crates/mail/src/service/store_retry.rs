//! Retries while a store is briefly unavailable: waiters survive a restart of the database, but fail when it stays
//! unavailable.

use std::time::Duration;

use tokio::time::Instant;

/// The longest time to retry.
const AWAY: Duration = Duration::from_secs(15);
/// The pauses between attempts: the first and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// Retries until a deadline.
pub(super) struct Patience {
    end: Instant,
    pause: Duration,
}

impl Patience {
    /// Retries until the deadline and no longer.
    pub(super) fn until(deadline: Instant) -> Patience {
        Patience { end: deadline.min(Instant::now() + AWAY), pause: PAUSES[0] }
    }

    /// Moves the deadline to at least this far from now.
    pub(super) fn extend(&mut self, least: Duration) {
        self.end = self.end.max(Instant::now() + least);
    }

    /// Pauses, longer each time. Returns false at once when the time is up.
    pub(super) async fn pause(&mut self) -> bool {
        let next = Instant::now() + self.pause;
        if next >= self.end {
            return false;
        }
        tokio::time::sleep_until(next).await;
        self.pause = (self.pause * 2).min(PAUSES[1]);
        true
    }
}

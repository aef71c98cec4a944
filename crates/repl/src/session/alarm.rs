//! The only timer of a session. Moving a timer costs more than the rest of a small evaluation, and most deadlines move
//! back before they expire. So the timer only ever moves forward, and may ring early.

use std::future::pending;
use std::pin::Pin;
use std::time::Instant;

use tokio::time::{Sleep, sleep_until};

/// A timer that rings at or before the earliest requested time.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    timer: Option<Pin<Box<Sleep>>>,
    /// The time at which it rings; `None` after it rang.
    set: Option<Instant>,
}

impl Alarm {
    /// Ensures that it rings at this time or before.
    pub(super) fn ring_by(&mut self, at: Instant) {
        if self.set.is_some_and(|set| set <= at) {
            return;
        }
        self.set = Some(at);
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(at.into()),
            none => *none = Some(Box::pin(sleep_until(at.into()))),
        }
    }

    /// Resolves when it rings; never if it was not set again since. Cancel safe.
    pub(super) async fn rings(&mut self) {
        match (&mut self.timer, self.set) {
            (Some(timer), Some(_)) => timer.as_mut().await,
            _ => pending().await,
        }
        self.set = None;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_rings_at_the_earliest_time_asked_for_and_once() {
        let mut alarm = Alarm::default();
        let begun = tokio::time::Instant::now();
        let at = |ms| (begun + Duration::from_millis(ms)).into_std();
        alarm.ring_by(at(50));
        alarm.ring_by(at(80));
        alarm.ring_by(at(20));
        alarm.rings().await;
        assert_eq!(begun.elapsed(), Duration::from_millis(20));
        let silent = tokio::time::timeout(Duration::from_secs(1), alarm.rings()).await;
        assert!(silent.is_err(), "it rang without having been set");
        alarm.ring_by(at(1100));
        alarm.rings().await;
        assert_eq!(begun.elapsed(), Duration::from_millis(1100));
    }
}

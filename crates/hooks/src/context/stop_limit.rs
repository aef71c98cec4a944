//! Limits how often an agent is kept from stopping at its turn's end. A rule that always denies, or an agent that ignores the
//! reason, would otherwise loop forever. After a number of times in a row or per hour, the agent may stop.

use std::time::{Duration, Instant};

/// The limits of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of holds in a row, before a turn ends without one.
    pub in_a_row: u32,
    /// The maximum number of holds per hour over several turns. They are restored evenly over an hour.
    pub an_hour: u32,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { in_a_row: 3, an_hour: 6 }
    }
}

/// The hold counts of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Breaker {
    in_a_row: u32,
    /// The number of holds that still count, with the time of that number.
    counted: Option<(f64, Instant)>,
}

impl Breaker {
    /// Starts a turn.
    pub(super) fn turn(&mut self) {
        self.in_a_row = 0;
    }

    /// Records a hold, or returns why the agent may not be held again. `is_held` is true if the agent reports that a hook held it
    /// just before.
    pub(super) fn may_hold(&mut self, bounds: Bounds, is_held: bool, now: Instant) -> Result<(), String> {
        if !is_held {
            self.turn();
        }
        if self.in_a_row >= bounds.in_a_row {
            return Err(format!("it was held {} times in a row", self.in_a_row));
        }
        let hourly = f64::from(bounds.an_hour);
        let counted = self.counted.map_or(0.0, |(count, at)| {
            let elapsed = now.saturating_duration_since(at).as_secs_f64();
            (count - elapsed * hourly / Duration::from_secs(3600).as_secs_f64()).max(0.0)
        });
        if counted + 1.0 > hourly {
            return Err(format!("it was held {} times within the hour", bounds.an_hour));
        }
        self.in_a_row += 1;
        self.counted = Some((counted + 1.0, now));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_in_a_row_and_six_an_hour() {
        let mut breaker = Breaker::default();
        let begun = Instant::now();
        let minutes = |count: u64| begun + Duration::from_secs(60 * count);
        let mut hold = |is_held, at| breaker.may_hold(Bounds::default(), is_held, minutes(at));
        assert_eq!([hold(false, 0), hold(true, 0), hold(true, 1)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(hold(true, 1), Err("it was held 3 times in a row".to_owned()));
        assert!(hold(true, 1).is_err(), "until a turn ends by itself");
        assert_eq!([hold(false, 2), hold(true, 2), hold(true, 2)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(hold(false, 3), Err("it was held 6 times within the hour".to_owned()));
        // One hold is restored every ten minutes.
        assert!(hold(false, 9).is_err());
        assert!(hold(false, 12).is_ok());
        assert!(hold(false, 13).is_err());
        assert!(hold(false, 100).is_ok());
    }

    #[test]
    fn none_are_allowed_with_bounds_of_zero() {
        for bounds in [Bounds { in_a_row: 0, an_hour: 6 }, Bounds { in_a_row: 3, an_hour: 0 }] {
            assert!(Breaker::default().may_hold(bounds, false, Instant::now()).is_err());
        }
    }
}

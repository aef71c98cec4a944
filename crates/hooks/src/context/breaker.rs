//! How often an agent may be held at its turn's end. A rule that always holds, and an agent that does not do what it is held
//! for, would go on for ever: after so many in a row, and so many an hour, the agent is let go.

use std::time::{Duration, Instant};

/// The bounds of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How often an agent is held in a row: before a turn of it ends that no hook holds.
    pub in_a_row: u32,
    /// How often it is held at once over several turns; this many are given back in an hour, evenly.
    pub an_hour: u32,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { in_a_row: 3, an_hour: 6 }
    }
}

/// The holds of one session.
#[derive(Debug, Clone, Default)]
pub(super) struct Breaker {
    in_a_row: u32,
    /// The holds that still count, and when that was.
    counted: Option<(f64, Instant)>,
}

impl Breaker {
    /// A turn begins.
    pub(super) fn turn(&mut self) {
        self.in_a_row = 0;
    }

    /// Whether the agent may be held once more, which counts; else why not. `is_held`: the agent says that a hook held it
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
        // One is given back every ten minutes.
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

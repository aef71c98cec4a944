//! The order of a mailbox: urgency first, then sequence. A waiting message rises one level every ten minutes, so none
//! starves. Stores bring candidates by declared priority; [`pick`] decides.

use super::clock::Millis;
use super::priority::Priority;

/// The fields that decide a waiting message's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// As declared.
    pub priority: Priority,
    /// Its sequence in the mailbox.
    pub seq: u64,
    /// Time of storing.
    pub at: Millis,
}

/// Returns the level of a message that has waited until `now`. A clock that was set back makes nothing sink.
pub fn level(position: Position, now: Millis, aging: Millis) -> u8 {
    let risen = now.saturating_sub(position.at) / aging.max(1);
    u8::try_from(u64::from(position.priority.level()) + risen.min(3)).map_or(3, |level| level.min(3))
}

/// Sorts candidates and keeps the first `limit`. The caller must supply the first `limit` by sequence of each declared
/// priority. These suffice: within one priority, an older message has risen at least as far.
pub fn pick<T>(
    mut candidates: Vec<T>,
    position: impl Fn(&T) -> Position,
    now: Millis,
    aging: Millis,
    limit: usize,
) -> Vec<T> {
    candidates.sort_by_key(|candidate| {
        let position = position(candidate);
        (3 - level(position, now, aging), position.seq)
    });
    candidates.truncate(limit);
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(positions: &[(Priority, u64, Millis)], now: Millis) -> Vec<u64> {
        let positions = positions.iter().map(|&(priority, seq, at)| Position { priority, seq, at }).collect();
        pick(positions, |position| *position, now, 600, 10).iter().map(|position| position.seq).collect()
    }

    #[test]
    fn urgency_then_sequence() {
        let mail =
            [(Priority::Low, 1, 0), (Priority::Normal, 2, 0), (Priority::Critical, 3, 0), (Priority::Normal, 4, 0)];
        assert_eq!(order(&mail, 0), [3, 2, 4, 1]);
    }

    #[test]
    fn low_rises_a_level_every_ten_minutes_and_never_starves() {
        let mail = |at| [(Priority::Low, 1, 0), (Priority::Normal, 2, at), (Priority::High, 3, at)];
        assert_eq!(order(&mail(599), 599), [3, 2, 1]);
        assert_eq!(order(&mail(600), 600), [3, 1, 2], "level with normal, and earlier");
        assert_eq!(order(&mail(1200), 1200), [1, 3, 2]);
        assert_eq!(order(&[(Priority::Low, 1, 0), (Priority::Critical, 2, 1800)], 1800), [1, 2]);
    }

    #[test]
    fn a_clock_set_back_is_survived() {
        assert_eq!(order(&[(Priority::Low, 1, 5_000_000), (Priority::Normal, 2, 0)], 0), [2, 1]);
    }
}

//! How to wait for the next message: asleep, or for a moment awake. Decides; waiting itself is the caller's.

use std::time::{Duration, Instant};

/// How soon a message comes that makes the next one worth looking out for: a round trip between sleeping processes.
const BRISK: Duration = Duration::from_micros(200);

/// How long it is looked out for.
const LONGEST: Duration = Duration::from_micros(100);

/// Whether to look out for the next message.
///
/// A peer that asks one quick question after the other would mostly find us going to sleep, and waking a sleeping
/// processor takes longer than answering. So after messages that came soon the next one is looked for a moment
/// longer. Between two looks everybody else goes first ([`std::thread::yield_now`]).
#[derive(Debug, Default)]
pub struct BusyWait {
    /// The next message may come since then.
    since: Option<Instant>,
    /// The last message came soon.
    brisk: bool,
}

impl BusyWait {
    /// From now on the next message may come: the peer was told what it waited for, or we begin to wait.
    pub fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// Nothing is there: whether to look once more at once, rather than to sleep.
    pub fn goes_on(&mut self) -> bool {
        self.brisk = self.brisk && self.since.is_none_or(|since| since.elapsed() < LONGEST);
        self.brisk && self.since.is_some()
    }

    /// Something came.
    pub fn found(&mut self) {
        // What comes unasked for, before the last was answered, says nothing of how soon the next comes.
        if let Some(since) = self.since.take() {
            self.brisk = since.elapsed() < BRISK;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_only_after_what_came_soon_and_not_for_long() {
        let mut busy_wait = BusyWait::default();
        assert!(!busy_wait.goes_on(), "nothing has come yet");
        busy_wait.begin();
        busy_wait.found();
        assert!(!busy_wait.goes_on(), "it was not answered yet");
        busy_wait.begin();
        assert!(busy_wait.goes_on(), "the last came soon");
        while busy_wait.goes_on() {}
        assert!(busy_wait.since.expect("since then").elapsed() >= LONGEST);
        busy_wait.since = Instant::now().checked_sub(BRISK);
        busy_wait.found();
        busy_wait.begin();
        assert!(!busy_wait.goes_on(), "the last came late");
    }

    #[test]
    fn what_was_there_already_changes_nothing() {
        let mut busy_wait = BusyWait { since: None, brisk: true };
        busy_wait.found();
        busy_wait.begin();
        assert!(busy_wait.goes_on());
    }
}

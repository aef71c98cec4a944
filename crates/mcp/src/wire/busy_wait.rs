//! Decides whether to wait busily for the next message for a moment, or to sleep. The waiting itself is the caller's.

use std::time::{Duration, Instant};

/// A message within this time makes a busy wait for the next one worthwhile: a round trip between sleeping processes.
const BRISK: Duration = Duration::from_micros(200);

/// The longest busy wait.
const LONGEST: Duration = Duration::from_micros(100);

/// Decides whether to wait busily for the next message.
///
/// Waking a sleeping processor takes longer than answering a quick question. So after a message that came soon, the
/// reader polls for the next one for a moment before it sleeps. Between two polls the caller lets other threads run
/// ([`std::thread::yield_now`]).
#[derive(Debug, Default)]
pub struct BusyWait {
    /// Since when the next message may come.
    since: Option<Instant>,
    /// True if the last message came soon.
    brisk: bool,
}

impl BusyWait {
    /// The next message may come from now on: the peer has its answer, or the reader begins to wait.
    pub fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// Called without a message: returns true to poll again immediately, rather than to sleep.
    pub fn should_poll(&mut self) -> bool {
        self.brisk = self.brisk && self.since.is_none_or(|since| since.elapsed() < LONGEST);
        self.brisk && self.since.is_some()
    }

    /// A message came.
    pub fn message_arrived(&mut self) {
        // A message that comes before the last was answered says nothing about how soon the next comes.
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
        assert!(!busy_wait.should_poll(), "nothing has come yet");
        busy_wait.begin();
        busy_wait.message_arrived();
        assert!(!busy_wait.should_poll(), "it was not answered yet");
        busy_wait.begin();
        assert!(busy_wait.should_poll(), "the last came soon");
        while busy_wait.should_poll() {}
        assert!(busy_wait.since.expect("since then").elapsed() >= LONGEST);
        busy_wait.since = Instant::now().checked_sub(BRISK);
        busy_wait.message_arrived();
        busy_wait.begin();
        assert!(!busy_wait.should_poll(), "the last came late");
    }

    #[test]
    fn what_was_there_already_changes_nothing() {
        let mut busy_wait = BusyWait { since: None, brisk: true };
        busy_wait.message_arrived();
        busy_wait.begin();
        assert!(busy_wait.should_poll());
    }
}

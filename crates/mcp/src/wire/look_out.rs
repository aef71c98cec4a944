//! How to wait for the next message: asleep, or for a moment awake. Decides; waiting itself is the caller's.

use std::time::{Duration, Instant};

/// Whether to look out for the next message.
///
/// A peer that asks one quick question after the other would mostly find us going to sleep, and waking a sleeping
/// processor takes longer than answering. So after messages that came soon the next one is looked for a moment
/// longer. Between two looks everybody else goes first ([`std::thread::yield_now`]).
#[derive(Debug)]
pub struct LookOut {
    soon: Duration,
    longest: Duration,
    /// The next message may come since then.
    since: Option<Instant>,
    /// The last message came soon.
    brisk: bool,
}

impl Default for LookOut {
    /// For messages that come as soon as a round trip between sleeping processes takes.
    fn default() -> Self {
        Self::new(Duration::from_micros(200), Duration::from_micros(100))
    }
}

impl LookOut {
    /// What comes within `soon` makes the next one worth looking out for, for as long as `longest`.
    pub const fn new(soon: Duration, longest: Duration) -> Self {
        Self { soon, longest, since: None, brisk: false }
    }

    /// From now on the next message may come: the peer was told what it waited for, or we begin to wait.
    pub fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// Nothing is there: whether to look once more at once, rather than to sleep.
    pub fn goes_on(&mut self) -> bool {
        self.brisk = self.brisk && self.since.is_none_or(|since| since.elapsed() < self.longest);
        self.brisk && self.since.is_some()
    }

    /// Looks no more for this one: others need the processor.
    pub fn give_up(&mut self) {
        self.brisk = false;
    }

    /// Something came.
    pub fn found(&mut self) {
        // What comes unasked for, before the last was answered, says nothing of how soon the next comes.
        if let Some(since) = self.since.take() {
            self.brisk = since.elapsed() < self.soon;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_only_after_what_came_soon_and_not_for_long() {
        let mut look_out = LookOut::default();
        assert!(!look_out.goes_on(), "nothing has come yet");
        look_out.begin();
        look_out.found();
        assert!(!look_out.goes_on(), "it was not answered yet");
        look_out.begin();
        assert!(look_out.goes_on(), "the last came soon");
        while look_out.goes_on() {}
        assert!(look_out.since.expect("since then").elapsed() >= look_out.longest);
        look_out.since = Instant::now().checked_sub(look_out.soon);
        look_out.found();
        look_out.begin();
        assert!(!look_out.goes_on(), "the last came late");
    }

    #[test]
    fn what_was_there_already_changes_nothing() {
        let mut look_out = LookOut { brisk: true, ..LookOut::default() };
        look_out.found();
        look_out.begin();
        assert!(look_out.goes_on());
        look_out.give_up();
        assert!(!look_out.goes_on());
    }
}

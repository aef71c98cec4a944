//! How to wait for the next message: asleep, or for a moment awake. Decides; waiting itself is the caller's.

use std::time::{Duration, Instant};

/// How soon a message comes that makes the next one worth looking out for: a round trip between sleeping processes.
const BRISK: Duration = Duration::from_micros(200);

/// How long it is looked out for.
const LONGEST: Duration = Duration::from_micros(100);

/// Whether to look out for the next message.
///
/// A peer that asks one quick question after the other would mostly find us going to sleep, and waking a sleeping
/// processor takes longer than answering. So after messages in quick succession the next one is looked for a moment
/// longer. Between two looks everybody else goes first ([`std::thread::yield_now`]).
#[derive(Debug, Default)]
pub struct LookOut {
    /// Nothing is there since then.
    idle: Option<Instant>,
    /// The last message came soon.
    brisk: bool,
}

impl LookOut {
    /// Nothing is there: whether to look once more at once, rather than to sleep.
    pub fn goes_on(&mut self) -> bool {
        let idle = *self.idle.get_or_insert_with(Instant::now);
        self.brisk = self.brisk && idle.elapsed() < LONGEST;
        self.brisk
    }

    /// Something came.
    pub fn found(&mut self) {
        // What was there already, before anybody looked, says nothing of how soon the next comes.
        if let Some(idle) = self.idle.take() {
            self.brisk = idle.elapsed() < BRISK;
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
        look_out.idle = Some(Instant::now());
        look_out.found();
        assert!(look_out.goes_on(), "the last came soon");
        while look_out.goes_on() {}
        assert!(look_out.idle.expect("since then").elapsed() >= LONGEST);
        look_out.idle = Instant::now().checked_sub(BRISK);
        look_out.found();
        assert!(!look_out.goes_on(), "the last came late");
    }

    #[test]
    fn what_was_there_already_changes_nothing() {
        let mut look_out = LookOut { idle: None, brisk: true };
        look_out.found();
        assert!(look_out.goes_on());
    }
}

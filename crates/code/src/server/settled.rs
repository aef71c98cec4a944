//! Decides whether one round of questions to a server is enough.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Rounds since the last change of files, or since a server without probes reported that it is ready. One round is
/// enough after two rounds, some time apart, confirmed uses that only a loaded server can know.
#[derive(Debug, Clone)]
pub(crate) struct Certainty(Arc<Mutex<Evidence>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    None,
    /// One confirming round, which ended then.
    Once(Instant),
    Enough,
}

impl Certainty {
    pub(crate) fn already() -> Certainty {
        Certainty(Arc::new(Mutex::new(Evidence::Enough)))
    }

    pub(crate) fn not_yet() -> Certainty {
        Certainty(Arc::new(Mutex::new(Evidence::None)))
    }

    pub(crate) fn is_it(&self) -> bool {
        *self.0.lock() == Evidence::Enough
    }

    /// True if both refer to the same changes.
    pub(crate) fn is_same(&self, other: &Certainty) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Records that a round which began then confirmed a use. Returns true if one round is now enough.
    pub(crate) fn confirm(&self, began: Instant, pause: Duration) -> bool {
        let mut evidence = self.0.lock();
        *evidence = match *evidence {
            Evidence::None => Evidence::Once(Instant::now()),
            Evidence::Once(ended) if began >= ended + pause => Evidence::Enough,
            other => other,
        };
        *evidence == Evidence::Enough
    }

    /// Records that two rounds of a question differ.
    pub(crate) fn doubt(&self) {
        let mut evidence = self.0.lock();
        if matches!(*evidence, Evidence::Once(_)) {
            *evidence = Evidence::None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rounds_some_time_apart_are_enough() {
        let (settled, pause) = (Certainty::not_yet(), Duration::from_millis(300));
        assert!(!settled.confirm(Instant::now(), pause));
        // It began before the pause was over.
        assert!(!settled.confirm(Instant::now(), pause) && !settled.is_it());
        settled.doubt();
        assert!(!settled.confirm(Instant::now() + pause, pause));
        assert!(settled.confirm(Instant::now() + pause, pause) && settled.is_it());
        settled.doubt();
        assert!(settled.is_it());
    }
}

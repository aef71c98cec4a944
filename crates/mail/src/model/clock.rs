//! Time as stores see it. The store's own clock decides. Times are shown and age messages; they never order them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub type Millis = u64;

/// The clock of a store that has no clock itself.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System,
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// Returns the machine's clock. It may jump.
    pub fn system() -> Clock {
        Clock(Source::System)
    }

    /// Returns a clock that does not advance, and the number that sets it.
    pub fn manual(at: Millis) -> (Clock, Arc<AtomicU64>) {
        let hand = Arc::new(AtomicU64::new(at));
        (Clock(Source::Manual(Arc::clone(&hand))), hand)
    }

    pub fn now(&self) -> Millis {
        match &self.0 {
            Source::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            }
            Source::Manual(hand) => hand.load(Ordering::SeqCst),
        }
    }
}

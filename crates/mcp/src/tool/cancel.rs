//! The sign by which a call learns that nobody waits for it any more. Cheaper than a watch channel, of which every call
//! would need one: a call that is done at once only reads a flag, if that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Both ends at once: whoever has it may cancel, and wait for it.
#[derive(Clone, Default)]
pub(crate) struct CancelToken(Arc<Flag>);

#[derive(Default)]
struct Flag {
    set: AtomicBool,
    changed: Notify,
}

impl CancelToken {
    /// Cancels, for good.
    pub(crate) fn cancel(&self) {
        if !self.0.set.swap(true, Ordering::SeqCst) {
            self.0.changed.notify_waiters();
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.set.load(Ordering::SeqCst)
    }

    /// Whether anybody else has the other end.
    pub(crate) fn is_watched(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Resolves once it is cancelled. Cancel safe.
    pub(crate) async fn cancelled(&self) {
        // Waiting counts from here on, so that nothing is missed between looking and waiting.
        let changed = self.0.changed.notified();
        if !self.is_cancelled() {
            changed.await;
        }
    }
}

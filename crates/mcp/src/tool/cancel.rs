//! A cancellation token for calls. Cheaper than a watch channel, of which every call would need one: a call that is
//! done at once reads a flag at most.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Both ends in one: every clone can cancel, and wait for the cancellation.
#[derive(Clone, Default)]
pub(crate) struct CancelToken(Arc<Flag>);

#[derive(Default)]
struct Flag {
    set: AtomicBool,
    changed: Notify,
}

impl CancelToken {
    /// Cancels. This cannot be undone.
    pub(crate) fn cancel(&self) {
        if !self.0.set.swap(true, Ordering::SeqCst) {
            self.0.changed.notify_waiters();
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.set.load(Ordering::SeqCst)
    }

    /// Returns true if there is another clone.
    pub(crate) fn is_watched(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Resolves once the token is cancelled. Cancel safe.
    pub(crate) async fn cancelled(&self) {
        // Created before the check, so that a cancellation between check and wait is not missed.
        let changed = self.0.changed.notified();
        if !self.is_cancelled() {
            changed.await;
        }
    }
}

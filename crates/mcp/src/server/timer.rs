//! A timer for the earliest of several deadlines.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep};

/// A timer that is reset at each poll; it allocates only when there is a deadline.
#[derive(Default)]
pub(super) struct Timer(Option<(Instant, Pin<Box<Sleep>>)>);

impl Timer {
    /// Ready once the earliest deadline has passed; never without a deadline.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        deadlines: impl IntoIterator<Item = Option<Instant>>,
    ) -> Poll<()> {
        let Some(deadline) = deadlines.into_iter().flatten().min() else { return Poll::Pending };
        let (at, timer) = self.0.get_or_insert_with(|| (deadline, Box::pin(tokio::time::sleep_until(deadline))));
        if *at != deadline {
            *at = deadline;
            timer.as_mut().reset(deadline);
        }
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.0 = None;
        Poll::Ready(())
    }
}

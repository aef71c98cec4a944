//! A call's panic stays that call's.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::tool::BoxFuture;

/// A future whose panic is a value. The inner future is dropped as soon as it is done, and a panic while it is
/// dropped counts as its own.
pub(super) struct CatchUnwind<T>(Option<BoxFuture<T>>);

/// What a panic said.
#[derive(Debug)]
pub(super) struct Panicked(pub String);

impl<T> CatchUnwind<T> {
    /// Runs `make` and keeps the future it gives.
    pub(super) fn new(make: impl FnOnce() -> BoxFuture<T>) -> Result<CatchUnwind<T>, Panicked> {
        // Nothing of ours is left half-changed by a panic in foreign code: it only ever sees its own state and
        // clones of handles.
        catch_unwind(AssertUnwindSafe(make)).map(|future| CatchUnwind(Some(future))).map_err(panicked)
    }
}

impl<T> Future for CatchUnwind<T> {
    type Output = Result<T, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = &mut self.0;
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let Some(future) = slot.as_mut() else { return Poll::Pending };
            let polled = future.as_mut().poll(cx);
            if polled.is_ready() {
                *slot = None;
            }
            polled
        }));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => {
                // A future that panicked must not be polled again; dropping it may panic once more.
                let future = slot.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
                Poll::Ready(Err(panicked(panic)))
            }
        }
    }
}

fn panicked(panic: Box<dyn Any + Send>) -> Panicked {
    let text = match panic.downcast_ref::<&str>() {
        Some(text) => (*text).to_owned(),
        None => panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "no message".to_owned()),
    };
    Panicked(text)
}

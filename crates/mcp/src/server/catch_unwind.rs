//! Turns the panic of a call into an error of that call alone.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::tool::BoxFuture;

/// A future whose panic is an error. The inner future is dropped as soon as it is done; a panic in its drop counts too.
pub(super) struct CatchUnwind<T>(Option<BoxFuture<T>>);

/// The message of a panic.
#[derive(Debug)]
pub(super) struct Panicked(pub String);

impl<T> CatchUnwind<T> {
    /// Runs `make` and keeps the future that it returns.
    pub(super) fn new(make: impl FnOnce() -> BoxFuture<T>) -> Result<CatchUnwind<T>, Panicked> {
        catch(make).map(|future| CatchUnwind(Some(future)))
    }
}

/// Runs foreign code.
pub(super) fn catch<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    // Unwind safe: foreign code only sees its own state and clones of handles, so a panic leaves nothing of ours
    // half-changed.
    catch_unwind(AssertUnwindSafe(run)).map_err(panicked)
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
                // A future that panicked must not be polled again, and dropping it may panic too.
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

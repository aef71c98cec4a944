//! Observation of tools' calls by the embedder: when each begins, and how it ends. The embedder may stop one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;

use serde_json::value::RawValue;

use super::catch_unwind::{Panicked, catch};
use crate::tool::{CancelToken, Context, Declaration, Outcome, ToolError};

/// The time in which a stopped call may still end with its own result.
const GRACE: Duration = Duration::from_secs(2);

/// Called when a call begins, with its arguments. Returns the function that is called when it ends.
pub(super) type Observer = Arc<dyn Fn(&Context, &Declaration, Option<&RawValue>, Stopper) -> OnEnd + Send + Sync>;

/// Called once with the end of a call.
pub type OnEnd = Box<dyn FnOnce(CallEnd) + Send>;

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// With a result.
    Done,
    /// With a result that is a failure, which the caller can act on.
    Error,
    /// By an internal error or a panic.
    Internal,
    /// Its client cancelled it or has disconnected, or the embedder stopped it.
    Cancelled,
}

/// Stops one call for the embedder. Unlike a call that its client cancelled, the call is answered.
#[derive(Clone)]
pub struct Stopper(Arc<Mutex<Option<Stop>>>);

/// The way to stop a call that has not ended.
struct Stop {
    cancel: CancelToken,
    /// The reason, once it is stopped.
    why: Option<String>,
    waker: Option<Waker>,
}

impl Stopper {
    /// Stops the call: its work is told, and dropped after two seconds. The client gets an error with this reason. Returns
    /// false if the call has ended.
    pub fn stop(&self, why: &str) -> bool {
        let mut call = self.0.lock();
        let Some(stop) = call.as_mut() else { return false };
        stop.why = Some(why.to_owned());
        stop.cancel.cancel();
        if let Some(waker) = stop.waker.take() {
            waker.wake();
        }
        true
    }
}

/// A call that is observed, until it ends.
pub(super) struct Observed {
    on_end: Option<OnEnd>,
    stopper: Stopper,
    /// The time that is left to a stopped call.
    grace: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Observed {
    /// Reports the beginning. An observer that panics observes nothing.
    pub(super) fn begin(
        observer: Option<&Observer>,
        cx: &Context,
        tool: &Declaration,
        arguments: Option<&RawValue>,
    ) -> Observed {
        let stop = Stop { cancel: cx.cancel_token(), why: None, waker: None };
        let stopper = Stopper(Arc::new(Mutex::new(Some(stop))));
        let on_end = observer.and_then(|observer| catch(|| observer(cx, tool, arguments, stopper.clone())).ok());
        Observed { on_end, stopper, grace: None }
    }

    /// Reports the end, and returns the reply. A stopped call that did not succeed has its reason.
    pub(super) fn end(
        &mut self,
        reply: Result<Result<Outcome, ToolError>, Panicked>,
    ) -> Result<Result<Outcome, ToolError>, Panicked> {
        let end = match &reply {
            Ok(Ok(outcome)) if outcome.is_error => CallEnd::Error,
            Ok(Ok(_)) => CallEnd::Done,
            Ok(Err(ToolError::Internal(_))) | Err(_) => CallEnd::Internal,
            Ok(Err(_)) => CallEnd::Error,
        };
        // The token is released here, because nothing watches for a cancellation of an ended call.
        let stop = self.stopper.0.lock().take();
        match stop.and_then(|stop| stop.why).filter(|_| end != CallEnd::Done) {
            Some(why) => {
                self.report(CallEnd::Cancelled);
                Ok(Err(ToolError::user(why)))
            }
            None => {
                self.report(end);
                reply
            }
        }
    }

    /// Returns the error of a stopped call whose work did not end in time.
    pub(super) fn poll_stop(&mut self, cx: &mut TaskContext<'_>) -> Poll<ToolError> {
        let mut call = self.stopper.0.lock();
        let Some(stop) = call.as_mut() else { return Poll::Pending };
        let Some(why) = &stop.why else {
            stop.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        let grace = self.grace.get_or_insert_with(|| Box::pin(tokio::time::sleep(GRACE)));
        grace.as_mut().poll(cx).map(|()| ToolError::user(why.clone()))
    }

    fn report(&mut self, end: CallEnd) {
        if let Some(on_end) = self.on_end.take() {
            let _ = catch(|| on_end(end));
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.stopper.0.lock().take();
        self.report(CallEnd::Cancelled);
    }
}

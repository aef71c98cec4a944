//! Observation of tools' calls by the embedder: when each begins, and how it ends.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::catch_unwind::{Panicked, catch};
use crate::tool::{Context, Declaration, Outcome, ToolError};

/// Called when a call begins, with its arguments. Returns the function that is called when it ends.
pub(super) type Observer = Arc<dyn Fn(&Context, &Declaration, Option<&RawValue>) -> OnEnd + Send + Sync>;

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
    /// Its work was dropped: its client cancelled it or has disconnected.
    Cancelled,
}

/// A call that is observed, until it ends.
pub(super) struct Observed(Option<OnEnd>);

impl Observed {
    /// Reports the beginning. An observer that panics observes nothing.
    pub(super) fn begin(
        observer: Option<&Observer>,
        cx: &Context,
        tool: &Declaration,
        arguments: Option<&RawValue>,
    ) -> Observed {
        Observed(observer.and_then(|observer| catch(|| observer(cx, tool, arguments)).ok()))
    }

    /// Reports the end.
    pub(super) fn end(&mut self, reply: &Result<Result<Outcome, ToolError>, Panicked>) {
        if self.0.is_some() {
            self.report(match reply {
                Ok(Ok(outcome)) if outcome.is_error => CallEnd::Error,
                Ok(Ok(_)) => CallEnd::Done,
                Ok(Err(ToolError::Internal(_))) | Err(_) => CallEnd::Internal,
                Ok(Err(_)) => CallEnd::Error,
            });
        }
    }

    fn report(&mut self, end: CallEnd) {
        if let Some(on_end) = self.0.take() {
            let _ = catch(|| on_end(end));
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.report(CallEnd::Cancelled);
    }
}

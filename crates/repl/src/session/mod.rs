//! One live REPL: a task owns the child and its state, others hold a [`Handle`].

mod event;
mod handle;
mod launch;
mod result;

pub use event::{LoadRecord, SessionEvent, SessionInfo, SessionState, Stream};
pub use handle::{EvalRequest, Handle, InputOutcome, InterruptOutcome, InterruptReport, RawOutput, SessionError};
pub use launch::Launch;
pub use result::{Between, Completion, Diagnostic, EvalResult, Severity, Shown, Source, Status, Truncated};

//! One live REPL: a task owns the child and its state, others hold a [`Handle`].
//!
//! `actor` is that task, `machine` decides for it, `scan` finds the markers in the streams, `capture` and `show` make
//! results of what was printed, `start` puts everything together.

mod actor;
mod alarm;
mod capture;
mod cpu;
mod event;
mod handle;
mod launch;
mod machine;
mod pipes;
mod replies;
mod scan;
mod script;
mod show;
mod start;

pub use event::{SessionEvent, SessionInfo, SessionState, Stream};
pub use handle::{EvalRequest, Handle, InputOutcome, InterruptOutcome, InterruptReport, RawOutput, SessionError};
pub use launch::Launch;
pub use start::StartError;
pub(crate) use start::{EventSink, SessionSpec, start};

#[cfg(test)]
pub(crate) mod tests;

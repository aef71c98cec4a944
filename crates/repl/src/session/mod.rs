//! One live REPL: a task owns the child and its state, callers hold a [`Handle`].
//!
//! Start with `handle.rs`, the interface for callers. `actor` is the task, `machine` decides for it, `scan` and
//! `prompts` find the markers in the streams, `screen` is that of a program on a terminal, `capture` and `show` turn output into results, `start` connects the parts. Differences
//! between languages are in [`crate::adapter`]; names and limits of many sessions in [`crate::sessions`].

mod actor;
mod alarm;
mod capture;
mod cpu;
mod event;
mod handle;
mod launch;
mod machine;
mod pipes;
mod prompts;
mod replies;
mod scan;
mod screen;
mod script;
mod show;
mod start;
mod users;

pub use event::{SessionEvent, SessionInfo, SessionState, Stream};
pub(crate) use handle::HOB_ENDS;
pub use handle::{EvalRequest, Handle, InputOutcome, InterruptOutcome, InterruptReport, RawOutput, SessionError, View};
pub use launch::Launch;
pub use screen::{Screen, Snapshot};
pub use start::StartError;
pub(crate) use start::{EventSink, SessionSpec, start};

#[cfg(test)]
pub(crate) mod tests;

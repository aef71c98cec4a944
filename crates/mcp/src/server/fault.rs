//! Faults of the serving program: panics and internal errors. Each is logged under an id; the caller gets only the id.
//! A program without a `tracing` subscriber would lose them, so they go to standard error.

use std::error::Error;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;

/// Returns a short id of one fault, by which it is found in the log.
pub(super) fn fault_id() -> String {
    format!("{:08x}", RandomState::new().build_hasher().finish() as u32)
}

/// Logs the panic of a call, a job, or another named callback.
pub(super) fn panicked(call: &str, what: &str, fault: &str, panic: &str) {
    tracing::error!(call, fault, panic, "{what} panicked");
    without_log(call, fault, &format_args!("{what} panicked: {panic}"));
}

/// Logs an internal error with its chain of causes.
pub(super) fn failed(call: &str, fault: &str, source: &(dyn Error + Send + Sync)) {
    let mut chain = source.to_string();
    let mut cause = source.source();
    while let Some(error) = cause {
        chain.push_str(": ");
        chain.push_str(&error.to_string());
        cause = error.source();
    }
    tracing::error!(call, fault, chain, "a call failed");
    without_log(call, fault, &format_args!("a call failed: {chain}"));
}

/// Writes a fault to standard error if there is no log that would show it.
fn without_log(call: &str, fault: &str, what: &dyn std::fmt::Display) {
    if !tracing::dispatcher::has_been_set() {
        // One write, so that lines of several threads do not mix. A failure cannot be reported.
        let line = format!("{call}: {what} (fault {fault})\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

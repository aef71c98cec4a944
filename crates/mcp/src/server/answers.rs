//! The output that the client of a call receives: progress, heartbeats of silent calls, and the answer.

use std::error::Error;

use tokio::time::Instant;

use super::answer_delay::SETTLED;
use super::calls::{Call, Key, ProgressState, Reply, State, Target};
use super::connection_state::ConnectionState;
use super::resource_methods::not_found;
use super::result_budget;
use super::{Shared, fault, fault_id};
use crate::era::write;
use crate::resource::ReadError;
use crate::tool::{Outcome, Progress, ToolError};
use crate::wire::build::{self, RpcError};
use crate::wire::code;

impl ConnectionState {
    /// Writes a progress notification. Its value always grows, as MCP demands, whatever the tool reports.
    pub(super) fn report(&mut self, key: Key, mut progress: Progress) {
        let Some(call) = self.calls.get_mut(key) else { return };
        let Some(reported) = call.reported.as_mut().filter(|_| call.id.is_some()) else { return };
        let last = reported.last.as_ref().map_or(f64::NEG_INFINITY, |last| last.progress);
        if progress.progress.is_nan() || progress.progress <= last {
            progress.progress = next_progress(last);
        }
        let mut params = Vec::new();
        write::progress(&mut params, call.era, &reported.token, &progress);
        let params = String::from_utf8(params).unwrap_or_default();
        build::notification(self.out.bytes(), "notifications/progress", Some(&params));
        reported.end = self.out.end();
        reported.at = Instant::now();
        reported.last = Some(progress);
    }

    /// Answers a call that was taken out of the table.
    pub(super) fn answer(&mut self, call: Call, mut reply: Reply) {
        call.peer.end();
        if let (Reply::Tool(Ok(outcome)), Target::Tool(tool)) = (&mut reply, &call.target)
            && let Some((budget, kept)) = self.shared.budget.get()
        {
            result_budget::truncate(outcome, *budget, tool.declaration(), kept, &self.principal);
        }
        if self.shared.result_prefixes.has_any() {
            reply = self.with_prefix(&call, reply);
        }
        let name = call.target.name();
        let Some(id) = &call.id else {
            match reply {
                Reply::Panicked(panicked) => fault::panicked(name, "a call", &fault_id(), &panicked.0),
                Reply::Tool(Err(ToolError::Internal(error))) => fault::failed(name, &fault_id(), error.as_ref()),
                _ => {}
            }
            return;
        };
        let (era, form) = (call.era, call.form);
        let missing = call.missing_capabilities(&reply);
        let write = |out: &mut Vec<u8>, shared: &Shared| match &reply {
            Reply::Tool(Ok(outcome)) => {
                build::result_with(out, id, |out| shared.results.outcome(out, era, form, outcome));
            }
            _ if missing.is_some() => {
                let message = "the request needs a client capability that was not declared";
                let error = RpcError::new(code::MISSING_CLIENT_CAPABILITY, message)
                    .with_data(&serde_json::json!({"requiredCapabilities": missing}));
                build::error(out, Some(id), &error);
            }
            Reply::Tool(Err(error)) => {
                let outcome = failed_outcome(name, error);
                build::result_with(out, id, |out| shared.results.outcome(out, era, form, &outcome));
            }
            Reply::Method(Ok(json)) => {
                build::result_with(out, id, |out| shared.results.custom(out, era, json.get()));
            }
            Reply::Method(Err(error)) => build::error(out, Some(id), error),
            Reply::Read { read: Ok(contents), fresh_for, .. } => {
                build::result_with(out, id, |out| shared.results.read(out, era, contents, *fresh_for));
            }
            Reply::Read { read: Err(ReadError::NotFound), uri, .. } => {
                build::error(out, Some(id), &not_found(uri, !era.is_modern()));
            }
            Reply::Prompt { description, messages: Ok(messages) } => {
                build::result_with(out, id, |out| shared.results.prompt(out, era, description, messages));
            }
            Reply::Completion(Ok(completion)) => {
                build::result_with(out, id, |out| shared.results.completion(out, era, completion));
            }
            Reply::Read { read: Err(ReadError::Failed(error)), .. } => {
                build::error(out, Some(id), &failure_error(name, error, code::INTERNAL));
            }
            Reply::Prompt { messages: Err(error), .. } | Reply::Completion(Err(error)) => {
                build::error(out, Some(id), &failure_error(name, error, code::INVALID_PARAMS));
            }
            Reply::Panicked(panicked) => {
                let fault = fault_id();
                fault::panicked(name, "a call", &fault, &panicked.0);
                let message = format!("internal error in {name} (fault {fault}): see the server's log");
                let error = RpcError::new(code::INTERNAL, message)
                    .with_data(&serde_json::json!({"reason": "panic", "fault": fault}));
                build::error(out, Some(id), &error);
            }
        };
        self.deliver(&call, write);
    }

    /// Writes a call's answer, or holds it until its last progress was read (`answer_delay.rs`).
    pub(super) fn deliver(&mut self, call: &Call, write: impl FnOnce(&mut Vec<u8>, &Shared)) {
        match &call.reported {
            Some(ProgressState { end, at, .. })
                if *end > 0 && (self.out.written() < *end || at.elapsed() < SETTLED) =>
            {
                let mut answer = Vec::new();
                write(&mut answer, &self.shared);
                self.held.push(answer, *end);
            }
            _ => self.emit(call.batch, write),
        }
    }

    /// Reports progress of silent calls, since some clients give up on a silent call.
    pub(super) fn heartbeat(&mut self, now: Instant) {
        self.heartbeat_at = None;
        let mut due = Vec::new();
        for (key, call) in self.calls.iter_mut() {
            let Some(reported) = &call.reported else { continue };
            let at = reported.at + self.limits.heartbeat;
            let next = if at <= now { now + self.limits.heartbeat } else { at };
            self.heartbeat_at = Some(self.heartbeat_at.map_or(next, |at| at.min(next)));
            if at <= now {
                due.push((key, reported.last.clone(), matches!(call.state, State::Waiting(_))));
            }
        }
        for (key, last, waiting) in due {
            let said = if waiting { "waiting for earlier calls" } else { "still running" };
            let last = last.unwrap_or(Progress { progress: 0.0, total: None, message: Some(said.to_owned()) });
            self.report(key, Progress { progress: next_progress(last.progress), ..last });
        }
    }
}

/// Returns the next larger progress, by a step too small to mean anything.
fn next_progress(last: f64) -> f64 {
    if last.is_finite() { (last + 0.001).max(last.next_up()) } else { 0.001 }
}

/// Returns the result of a failed tool call.
pub(super) fn failed_outcome(name: &str, error: &ToolError) -> Outcome {
    match error {
        ToolError::User { .. } | ToolError::Unanswered(_) => Outcome::error(error.to_string()),
        ToolError::Internal(source) => Outcome::error(log_fault(name, &fault_id(), source.as_ref())),
    }
}

/// Returns the error of a failed call that has no result to report it in.
fn failure_error(name: &str, error: &ToolError, code: i64) -> RpcError {
    match error {
        ToolError::User { .. } | ToolError::Unanswered(_) => RpcError::new(code, error.to_string()),
        ToolError::Internal(source) => {
            let fault = fault_id();
            RpcError::new(code::INTERNAL, log_fault(name, &fault, source.as_ref()))
                .with_data(&serde_json::json!({"reason": "fault", "fault": fault}))
        }
    }
}

/// Logs an internal error; returns the text for the client, which contains no details.
fn log_fault(name: &str, fault: &str, source: &(dyn Error + Send + Sync)) -> String {
    fault::failed(name, fault, source);
    format!("internal error in {name} (fault {fault}): see the server's log")
}

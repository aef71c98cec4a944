//! The status of sessions, as data for programs.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::session::{SessionInfo, SessionState};

/// The status of a session in `hob status --json`.
#[derive(Debug, Clone, Serialize)]
pub struct SessionStatus {
    session: String,
    /// The worktree that the name belongs to.
    worktree: PathBuf,
    profile: String,
    /// Its state.
    state: SessionState,
    /// The reason of its end, if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The caller that started it.
    owner: String,
    /// The process that was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// Resident memory of all its processes, in bytes, as last measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    /// Its uptime, or the uptime that it had.
    uptime_ms: u64,
    /// The time since the last evaluation.
    idle_ms: u64,
    /// The running evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    eval: Option<u64>,
    /// The first line of its code.
    #[serde(skip_serializing_if = "String::is_empty")]
    code: String,
    /// The number of queued evaluations.
    queue_depth: usize,
    /// The number of evaluations that have ended.
    evals: u64,
}

impl From<SessionInfo> for SessionStatus {
    fn from(info: SessionInfo) -> SessionStatus {
        SessionStatus {
            session: info.name,
            worktree: info.worktree,
            profile: info.profile,
            state: info.state,
            reason: info.reason,
            owner: info.owner,
            pid: info.pid,
            memory_bytes: info.memory,
            uptime_ms: millis(info.uptime),
            idle_ms: millis(info.idle),
            eval: info.current,
            code: if info.current.is_some() { info.code } else { String::new() },
            queue_depth: info.queue_depth,
            evals: info.evals,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

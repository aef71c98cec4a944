//! Journal records about sessions.

use std::path::PathBuf;

use project::journal::Event;
use serde::Serialize;

/// An event in a session's life.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A session's program was started.
    SessionStarted {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        profile: String,
        /// The program's process id.
        pid: u32,
    },
    /// A session takes evaluations.
    SessionReady {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        /// The time since its start.
        duration_ms: u64,
    },
    /// A session's program ended.
    SessionEnded {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        /// The outcome: stopped, exited, crashed, killed, idle.
        status: String,
        /// Details: the exit code, the signal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// An evaluation was handed to the program.
    EvaluationStarted {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        /// The evaluation's number in its session.
        eval: u64,
    },
    /// An evaluation ended.
    EvaluationFinished {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        /// The evaluation's number in its session.
        eval: u64,
        /// The outcome: done, error, interrupted, exited, …
        status: String,
        /// The evaluation's run time.
        duration_ms: u64,
    },
}

impl Event for Record {
    fn is_rare(&self) -> bool {
        matches!(self, Record::SessionStarted { .. } | Record::SessionReady { .. } | Record::SessionEnded { .. })
    }
}

//! Journal records of language server events.

use std::path::PathBuf;

use project::journal::Event;
use serde::Serialize;

/// A language server event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The process was started.
    CodeServerStarted {
        server: String,
        /// The directory that it serves.
        root: PathBuf,
        pid: i32,
    },
    /// The state changed to: starting, loading, ready, doubtful, parked, crashed, hung, over_budget.
    CodeServerState {
        server: String,
        /// The directory that it serves.
        root: PathBuf,
        state: String,
    },
    /// The process ended.
    CodeServerEnded {
        server: String,
        /// The directory that it serves.
        root: PathBuf,
        /// The reason: parked, restarted, crashed, hung, over_budget, ended.
        why: String,
        /// The exit status, if hob did not stop it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<String>,
    },
}

impl Event for Record {
    fn is_rare(&self) -> bool {
        true
    }
}

//! What happens to servers, as records of the journal.

use std::path::PathBuf;

use project::journal::Event;
use serde::Serialize;

/// Something that happened to a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A server's program was started.
    CodeServerStarted {
        server: String,
        /// What it reads.
        root: PathBuf,
        pid: i32,
    },
    /// It is in another state now: starting, loading, ready, doubtful, parked, crashed, hung, over_budget.
    CodeServerState {
        server: String,
        /// What it reads.
        root: PathBuf,
        state: String,
    },
    /// Its program ended.
    CodeServerEnded {
        server: String,
        /// What it reads.
        root: PathBuf,
        /// Why: parked, restarted, crashed, hung, over_budget, ended.
        why: String,
        /// How it ended, if by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<String>,
    },
}

impl Event for Record {
    fn is_rare(&self) -> bool {
        true
    }
}

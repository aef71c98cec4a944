//! The journal's records of nodes.

use project::journal::Event;
use serde::Serialize;

/// What happened to a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A version of a node is served.
    NodeServed { node: String, worktree: String, hash: String },
    /// A node's file cannot be used; the last good version, if there is one, goes on being served.
    NodeInvalid { node: String, worktree: String, error: String },
    /// A node file is gone.
    NodeGone { node: String, worktree: String },
    /// A node was called.
    NodeCalled {
        node: String,
        hash: String,
        /// `done`, `delegated`, or the class of the failure.
        outcome: String,
        attempts: usize,
        /// Asked and answered, as far as servers say.
        tokens: u64,
    },
    /// A value was submitted for a delegated call.
    NodeSubmitted {
        /// `accepted`, `rejected`, `expired` or `unknown`.
        status: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<String>,
    },
}

impl Event for Record {}

//! The journal records of nodes.

use project::journal::Event;
use serde::Serialize;

/// An event in the life of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A version of a node is available.
    NodeServed { node: String, worktree: String, hash: String },
    /// A node's file is invalid. The last good version, if any, remains available.
    NodeInvalid { node: String, worktree: String, error: String },
    /// A node file was removed.
    NodeGone { node: String, worktree: String },
    /// A node was called.
    NodeCalled {
        node: String,
        hash: String,
        /// The outcome: `done`, `delegated`, or the class of the failure.
        outcome: String,
        attempts: usize,
        /// The total tokens that servers reported.
        tokens: u64,
    },
    /// A value was submitted for a delegated call.
    NodeSubmitted {
        /// The status: `accepted`, `rejected`, `expired` or `unknown`.
        status: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<String>,
    },
}

impl Event for Record {}

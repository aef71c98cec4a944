//! Issues, and which of them a branch is about.
//!
//! `beads.rs` parses the tracker's file in the repository, `program.rs` runs the tracker's program if its data is more
//! recent, and `github.rs` queries GitHub. `branch_issue.rs` finds the issue in a branch name, and `find.rs` chooses one.

pub mod beads;
pub mod branch_issue;
mod find;
pub(crate) mod github;
mod program;

pub(crate) use find::{Question, Trackers};

use schemars::JsonSchema;
use serde::Serialize;

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Issue {
    /// The tracker that holds it.
    pub tracker: &'static str,
    pub id: String,
    pub title: String,
    pub description: String,
    /// `open`, `in_progress`, `blocked`, `closed` or another status of its tracker.
    pub status: String,
    /// The priority from 0 (most urgent) to 4; null if the tracker has no priorities.
    pub priority: Option<u8>,
    /// `task`, `bug`, `feature`, `epic` or another type of its tracker.
    pub issue_type: String,
    pub assignee: Option<String>,
    pub created_at: Option<String>,
    pub created_by: Option<String>,
    pub updated_at: Option<String>,
    /// The id of the parent issue.
    pub parent: Option<String>,
    /// The issues that it depends on.
    pub dependencies: Vec<Related>,
    /// The issues that depend on it.
    pub dependents: Vec<Related>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A related issue. Unknown fields are null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Related {
    pub id: String,
    pub title: Option<String>,
    pub status: Option<String>,
    pub priority: Option<u8>,
    pub issue_type: Option<String>,
    /// `blocks`, `parent-child`, `related`, `discovered-from` or another type of its tracker.
    pub dependency_type: String,
}

impl Issue {
    /// Returns the issues that must be closed before this one can start.
    pub fn blockers(&self) -> impl Iterator<Item = &Related> {
        let is_open = |related: &&Related| related.status.as_deref().is_some_and(|status| !is_closed(status));
        self.dependencies.iter().filter(|related| related.dependency_type == "blocks").filter(is_open)
    }
}

fn is_closed(status: &str) -> bool {
    ["closed", "tombstone"].contains(&status)
}

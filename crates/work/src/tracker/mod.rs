//! Issues, and which of them a branch is about.
//!
//! `beads.rs` reads the file that a tracker keeps beside the code, `program.rs` asks the tracker's program where that knows
//! more, `github.rs` asks GitHub; `of_branch.rs` finds the issue in a
//! branch's name, `find.rs` the one that is meant.

pub mod beads;
mod find;
pub(crate) mod github;
pub mod of_branch;
mod program;

pub(crate) use find::{Question, Trackers};

use schemars::JsonSchema;
use serde::Serialize;

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Issue {
    /// Where it is kept.
    pub tracker: &'static str,
    pub id: String,
    pub title: String,
    pub description: String,
    /// `open`, `in_progress`, `blocked`, `closed` or whatever else its tracker has.
    pub status: String,
    /// 0 is the most urgent, 4 the least; null where its tracker does not say.
    pub priority: Option<u8>,
    /// `task`, `bug`, `feature`, `epic` or whatever else its tracker has.
    pub issue_type: String,
    pub assignee: Option<String>,
    pub created_at: Option<String>,
    pub created_by: Option<String>,
    pub updated_at: Option<String>,
    /// The issue that it is a part of.
    pub parent: Option<String>,
    /// What it depends on.
    pub dependencies: Vec<Related>,
    /// What depends on it.
    pub dependents: Vec<Related>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// An issue beside another one. What is not known of it is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Related {
    pub id: String,
    pub title: Option<String>,
    pub status: Option<String>,
    pub priority: Option<u8>,
    pub issue_type: Option<String>,
    /// `blocks`, `parent-child`, `related`, `discovered-from` or whatever else its tracker has.
    pub dependency_type: String,
}

impl Issue {
    /// What must be closed before it can be worked on.
    pub fn blockers(&self) -> impl Iterator<Item = &Related> {
        let is_open = |related: &&Related| related.status.as_deref().is_some_and(|status| !is_closed(status));
        self.dependencies.iter().filter(|related| related.dependency_type == "blocks").filter(is_open)
    }
}

fn is_closed(status: &str) -> bool {
    ["closed", "tombstone"].contains(&status)
}

//! What other parts of the daemon know of a worktree. This crate knows none of them; the daemon asks them on its behalf.

use std::path::Path;
use std::pin::Pin;

use mcp::tool::Context;
use schemars::JsonSchema;
use serde::Serialize;

/// Answers for the other parts of the daemon.
pub trait Around: Send + Sync + 'static {
    /// What waits for this caller, by part.
    fn waiting<'a>(&'a self, cx: &'a Context) -> Pin<Box<dyn Future<Output = Vec<Waiting>> + Send + 'a>>;

    /// The agents whose programs stand in the worktree.
    fn agents(&self, worktree: &Path) -> Vec<Agent>;
}

/// Something that waits for a caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waiting {
    /// The part that says so.
    pub part: String,
    /// What waits, and how to come by it.
    pub text: String,
}

/// An agent in a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Agent {
    /// The name that it was started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The process that speaks for it.
    pub pid: u32,
    #[serde(skip)]
    pub run: Option<String>,
}

/// Without a daemon: nothing is known of others.
pub struct NoOthers;

impl Around for NoOthers {
    fn waiting<'a>(&'a self, _: &'a Context) -> Pin<Box<dyn Future<Output = Vec<Waiting>> + Send + 'a>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn agents(&self, _: &Path) -> Vec<Agent> {
        Vec::new()
    }
}

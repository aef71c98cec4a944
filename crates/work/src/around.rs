//! Information that other parts of the daemon have about a worktree. The daemon implements the trait, so that this crate
//! does not depend on those parts.

use std::path::Path;
use std::pin::Pin;

use mcp::tool::Context;
use schemars::JsonSchema;
use serde::Serialize;

/// Provides information from other parts of the daemon.
pub trait Neighbourhood: Send + Sync + 'static {
    /// Returns the pending items of this caller, by part.
    fn waiting<'a>(&'a self, cx: &'a Context) -> Pin<Box<dyn Future<Output = Vec<Waiting>> + Send + 'a>>;

    /// Returns the agents whose programs run in the worktree.
    fn agents(&self, worktree: &Path) -> Vec<Agent>;
}

/// A pending item of a caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waiting {
    /// The part that reports it.
    pub part: String,
    /// The pending item and the call that retrieves it.
    pub text: String,
}

/// An agent in a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Agent {
    /// The name that the agent was started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The process of the agent's front-end.
    pub pid: u32,
    #[serde(skip)]
    pub run: Option<String>,
}

/// An implementation for use without a daemon: it knows of nothing.
pub struct NoOthers;

impl Neighbourhood for NoOthers {
    fn waiting<'a>(&'a self, _: &'a Context) -> Pin<Box<dyn Future<Output = Vec<Waiting>> + Send + 'a>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn agents(&self, _: &Path) -> Vec<Agent> {
        Vec::new()
    }
}

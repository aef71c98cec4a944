//! Information that other parts of the daemon have about a worktree. The daemon provides it, so that this crate
//! does not depend on those parts.

use std::path::Path;
use std::pin::Pin;

use mcp::tool::Context;
use schemars::JsonSchema;
use serde::Serialize;

/// The sources of that information. By default there is none, as without a daemon.
#[expect(clippy::type_complexity, reason = "each field is the signature of one function")]
pub struct OtherParts {
    /// Returns the pending items of a caller, by part.
    pub waiting: Box<dyn Fn(&Context) -> WaitingFuture + Send + Sync>,
    /// Returns the agents whose programs run in a worktree.
    pub agents: Box<dyn Fn(&Path) -> Vec<Agent> + Send + Sync>,
}

/// A future with pending items.
pub type WaitingFuture = Pin<Box<dyn Future<Output = Vec<Waiting>> + Send>>;

impl Default for OtherParts {
    fn default() -> OtherParts {
        OtherParts { waiting: Box::new(|_| Box::pin(std::future::ready(Vec::new()))), agents: Box::new(|_| Vec::new()) }
    }
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

//! The tools, one file each.

mod node_run;
mod nodes_status;

use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::{AnyTool, Context, Tool, ToolError, tool};
use project::Caller;

use crate::Models;
use crate::folder::Folder;

/// The tools that a connection is offered first.
pub const CORE: &[&str] = &[node_run::NodeRun::NAME, nodes_status::NodesStatus::NAME];

/// What the tools share.
#[derive(Debug)]
pub struct Nodes {
    /// The directory of node files, relative to each worktree.
    pub path: PathBuf,
    pub models: Models,
}

impl Nodes {
    /// The caller's node files.
    fn folder(&self, cx: &Context) -> Result<Folder, ToolError> {
        let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
        Ok(Folder::new(&caller.worktree, &self.path))
    }
}

/// All tools of the toolset.
pub fn tools(nodes: &Arc<Nodes>) -> Vec<Arc<dyn AnyTool>> {
    vec![tool(node_run::NodeRun(nodes.clone())), tool(nodes_status::NodesStatus(nodes.clone()))]
}

//! The tools, one file each.

mod work_status;

use std::sync::Arc;

use mcp::tool::{AnyTool, Tool, tool};

pub use work_status::lines;

/// The tools that a connection is offered first.
pub const CORE: &[&str] = &[work_status::WorkStatus::NAME];

/// All tools of the toolset.
pub fn tools() -> Vec<Arc<dyn AnyTool>> {
    vec![tool(work_status::WorkStatus)]
}

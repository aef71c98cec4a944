//! The tools, one file each.

mod scout;
mod teach_graph;

use std::sync::Arc;

use mcp::tool::{AnyTool, tool};

pub use crate::prove::Compiling;
pub use crate::select::{ModelAnswer, ModelFuture, ModelNode, ModelNodes};
pub use crate::sources::{Diff, DiffFuture, LineRange, Sources};

/// Returns all tools of the toolset.
pub fn tools(sources: &Arc<Sources>) -> Vec<Arc<dyn AnyTool>> {
    vec![tool(teach_graph::TeachGraph::<false>(sources.clone())), tool(scout::Scout::<false>(sources.clone()))]
}

/// Returns the replacements for tools of Tidepool's control server. Their text is JSON.
pub fn tidepool(sources: &Arc<Sources>) -> Vec<Arc<dyn AnyTool>> {
    vec![tool(teach_graph::TeachGraph::<true>(sources.clone())), tool(scout::Scout::<true>(sources.clone()))]
}

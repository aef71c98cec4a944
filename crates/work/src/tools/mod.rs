//! The tools, one file each; `tidepool.rs` has the tools with the names of Tidepool's control server.

mod tidepool;
mod work_brief;
mod work_status;
mod work_sync;

use std::sync::Arc;

use mcp::tool::{AnyTool, Tool, tool};

pub use work_brief::NoteView;
pub(crate) use work_brief::{keep, render_target};

use crate::state::Work;

/// The tools in a connection's default list.
pub const CORE: &[&str] = &[work_brief::WorkBrief::NAME, work_status::WorkStatus::NAME];

/// Returns all tools of the toolset.
pub fn tools(work: &Arc<Work>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        tool(work_brief::WorkBrief(work.clone())),
        tool(work_status::WorkStatus(work.clone())),
        tool(work_sync::WorkSync(work.clone())),
    ]
}

/// Returns the tools of Tidepool's control server.
pub fn tidepool(work: &Arc<Work>) -> Vec<Arc<dyn AnyTool>> {
    vec![tool(tidepool::ExoStatus(work.clone())), tool(tidepool::ExoReconstitute(work.clone()))]
}

//! The tools, one file each; `tidepool.rs` has those that go by another system's names.

mod tidepool;
mod work_brief;
mod work_status;
mod work_sync;

use std::sync::Arc;

use mcp::tool::{AnyTool, Tool, tool};

pub use work_brief::NoteView;
pub(crate) use work_brief::{keep, shown};

use crate::gather::Work;

/// The tools that a connection is offered first.
pub const CORE: &[&str] = &[work_brief::WorkBrief::NAME, work_status::WorkStatus::NAME];

/// All tools of the toolset.
pub fn tools(work: &Arc<Work>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        tool(work_brief::WorkBrief(work.clone())),
        tool(work_status::WorkStatus(work.clone())),
        tool(work_sync::WorkSync(work.clone())),
    ]
}

/// The tools of Tidepool's control server.
pub fn tidepool(work: &Arc<Work>) -> Vec<Arc<dyn AnyTool>> {
    vec![tool(tidepool::ExoStatus(work.clone())), tool(tidepool::ExoReconstitute(work.clone()))]
}

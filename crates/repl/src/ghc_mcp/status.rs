//! `status`: reports whether GHCi is running.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{NOT_RUNNING, Reply, STOPPED, ghci};
use crate::sessions::Repl;
use crate::tools::caller;

/// Tell whether GHCi is running.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default: this worktree's own session).
    session: Option<String>,
}

pub(super) struct Status(pub(super) Arc<Repl>);

impl Tool for Status {
    const NAME: &'static str = "status";
    const TITLE: &'static str = "Is GHCi running?";
    const EFFECT: Effect = Effect::READ;
    const STRUCTURED: bool = false;
    type Args = Args;
    type Output = Reply;

    async fn call(&self, cx: Context, args: Args) -> Result<Reply, ToolError> {
        let Ok(handle) = self.0.find(caller(&cx)?, args.session.as_deref()) else {
            return Ok(Reply::new(NOT_RUNNING));
        };
        ghci(&self.0, &handle)?;
        let info = handle.info();
        Ok(Reply::new(match info.reason.as_deref() {
            _ if info.state.is_alive() => "GHCi is running",
            Some(STOPPED) => NOT_RUNNING,
            _ => "GHCi process has terminated",
        }))
    }

    fn text(output: &Reply) -> String {
        output.text.clone()
    }
}

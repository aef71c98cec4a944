//! `stop`: ends the GHCi process.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{NOT_RUNNING, Reply, STOPPED, ghci};
use crate::sessions::Repl;
use crate::tools::caller;

/// Stop the GHCi process.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default: this worktree's own session).
    session: Option<String>,
}

pub(super) struct Stop(pub(super) Arc<Repl>);

impl Tool for Stop {
    const NAME: &'static str = "stop";
    const TITLE: &'static str = "Stop GHCi";
    const EFFECT: Effect = Effect::DESTRUCTIVE.idempotent();
    const STRUCTURED: bool = false;
    type Args = Args;
    type Output = Reply;

    async fn call(&self, cx: Context, args: Args) -> Result<Reply, ToolError> {
        match self.0.find(caller(&cx)?, args.session.as_deref()) {
            Ok(handle) if handle.info().state.is_alive() => {
                ghci(&self.0, &handle)?;
                handle.stop(STOPPED).await;
                Ok(Reply::new("Stopped GHCi"))
            }
            _ => Ok(Reply::new(NOT_RUNNING)),
        }
    }

    fn text(output: &Reply) -> String {
        output.text.clone()
    }
}

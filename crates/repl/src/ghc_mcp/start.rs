//! `start`: starts GHCi.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Reply, ghci};
use crate::profile::DriverKind;
use crate::sessions::{Repl, StartRequest};
use crate::tools::{caller, wait_for_start};

/// The time limit for a start; a package that builds its dependencies continues after it.
const WAIT: Duration = Duration::from_secs(30);

/// Start a GHCi process (cabal repl or stack ghci in a package).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default: this worktree's own session).
    session: Option<String>,
}

pub(super) struct Start(pub(super) Arc<Repl>);

impl Tool for Start {
    const NAME: &'static str = "start";
    const TITLE: &'static str = "Start GHCi";
    const EFFECT: Effect = Effect::WRITE.idempotent().open_world();
    const STRUCTURED: bool = false;
    type Args = Args;
    type Output = Reply;

    async fn call(&self, cx: Context, args: Args) -> Result<Reply, ToolError> {
        let caller = caller(&cx)?;
        if let Ok(handle) = self.0.find(caller, args.session.as_deref())
            && handle.info().state.is_alive()
        {
            ghci(&self.0, &handle)?;
            return Ok(Reply::new("GHCi is already running"));
        }
        let (profile, cwd) = self.0.detect(caller, DriverKind::Ghci)?;
        let (profile, cwd) = (Some(profile), Some(cwd));
        let request = StartRequest { session: args.session, profile, cwd, ..StartRequest::default() };
        let handle = self.0.start(caller, request).await?.handle;
        wait_for_start(&cx, &handle, WAIT).await?;
        // A disconnected or overloaded client needs no notification.
        let _ = cx.notify("ghci/started", &serde_json::json!({}));
        Ok(Reply::new("Started GHCi"))
    }

    fn text(output: &Reply) -> String {
        output.text.clone()
    }
}

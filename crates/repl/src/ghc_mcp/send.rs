//! `send`: sends a line to GHCi and returns at once.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Reply, profile_error, running, submit_line};
use crate::adapter::Adapter;
use crate::adapter::ghci::Ghci;
use crate::session::{SessionError, SessionState};
use crate::sessions::Repl;

/// Send a command or an expression to GHCi and return at once. Its output arrives as ghci/output notifications after
/// listen, and can be read with read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The line to send. A program that waits for input receives it.
    command: String,
    /// Session name (default: this worktree's own session).
    session: Option<String>,
}

pub(super) struct Send(pub(super) Arc<Repl>);

impl Tool for Send {
    const NAME: &'static str = "send";
    const TITLE: &'static str = "Send to GHCi";
    const EFFECT: Effect = Effect::DESTRUCTIVE.open_world();
    const STRUCTURED: bool = false;
    type Args = Args;
    type Output = Reply;

    async fn call(&self, cx: Context, args: Args) -> Result<Reply, ToolError> {
        let handle = running(&self.0, &cx, args.session.as_deref())?;
        if handle.info().state != SessionState::WaitingForInput {
            // A refused command must not be announced.
            Ghci.plan(&args.command).map_err(|refusal| profile_error(SessionError::Refused(refusal)))?;
        }
        // Sent before the command is handed over, so that it precedes the command's output. A disconnected or
        // overloaded client needs no notification.
        let _ = cx.notify("ghci/command_sent", &json!({"command": args.command}));
        // Does not wait: the evaluation continues without this call.
        submit_line(&handle, &args.command, Duration::ZERO).await.map_err(profile_error)?;
        Ok(Reply::new(format!("Sent command: {}", args.command)))
    }

    fn text(output: &Reply) -> String {
        output.text.clone()
    }
}

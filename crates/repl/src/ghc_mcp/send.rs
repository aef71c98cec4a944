//! `send`: hands a line to GHCi and returns at once.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Reply, profile_error, running, submit_line};
use crate::profile::DriverKind;
use crate::session::{SessionError, SessionState};
use crate::sessions::Repl;

/// Send a command or an expression to GHCi and return at once. Its output comes as ghci/output notifications after
/// listen, and from read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// What to send. A program that waits for input gets it as a line.
    command: String,
    /// The session, if there are several; default is this worktree's own.
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
            // Refused before it is announced.
            DriverKind::Ghci
                .adapter()
                .plan(&args.command)
                .map_err(|refusal| profile_error(SessionError::Refused(refusal)))?;
        }
        // Sent before the command is handed over, so that it precedes the command's output. A client that is gone or
        // overloaded needs no notification.
        let _ = cx.notify("ghci/command_sent", &json!({"command": args.command}));
        // Not waited for: the evaluation goes on without this call.
        submit_line(&handle, &args.command, Duration::ZERO).await.map_err(profile_error)?;
        Ok(Reply::new(format!("Sent command: {}", args.command)))
    }

    fn text(output: &Reply) -> String {
        output.text.clone()
    }
}

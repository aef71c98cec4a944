//! `send_sync`: a line for GHCi, answered with its output.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Reply, running};
use crate::session::EvalRequest;
use crate::sessions::Repl;
use crate::text;
use crate::tools::{budget, held};

/// Send a command or an expression to GHCi and return its output once it has ended, or what there is after timeout_ms.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// What to send.
    command: String,
    /// How long to wait for the end; default 20000, at most 50000.
    timeout_ms: Option<u64>,
    /// The session, if there are several; default is this worktree's own.
    session: Option<String>,
}

/// The tool.
pub(super) struct SendSync(pub(super) Arc<Repl>);

impl Tool for SendSync {
    const NAME: &'static str = "send_sync";
    const TITLE: &'static str = "Send to GHCi and wait";
    const EFFECT: Effect = Effect::DESTRUCTIVE.open_world();
    const STRUCTURED: bool = false;
    type Args = Args;
    type Output = Reply;

    async fn call(&self, cx: Context, args: Args) -> Result<Reply, ToolError> {
        let handle = running(&self.0, &cx, args.session.as_deref())?;
        let wait = budget(&cx, args.timeout_ms, Duration::from_secs(20));
        let request = EvalRequest { wait, ..EvalRequest::new(args.command) };
        let result = held(&cx, "evaluating", handle.eval(request)).await?;
        Ok(Reply::new(text::output(&result)))
    }

    fn text(output: &Reply) -> String {
        output.text.clone()
    }
}

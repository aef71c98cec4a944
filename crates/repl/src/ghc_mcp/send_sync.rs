//! `send_sync`: sends a line to GHCi and returns its output.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Reply, profile_error, running, submit_line};
use crate::result::{EvalResult, Status};
use crate::sessions::Repl;
use crate::tools::{budget, with_heartbeat};

/// Send a command or an expression to GHCi. Returns its output at its end, or the output so far after timeout_ms.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The line to send. A program that waits for input receives it.
    command: String,
    /// How long to wait for the end, in ms (default 20000, at most 50000).
    timeout_ms: Option<u64>,
    /// Session name (default: this worktree's own session).
    session: Option<String>,
}

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
        let before = handle.info().cursor;
        let result = with_heartbeat(&cx, "evaluating", async {
            submit_line(&handle, &args.command, wait).await.map_err(profile_error)
        })
        .await?;
        Ok(Reply::new(output(&result, before)))
    }

    fn text(output: &Reply) -> String {
        output.text.clone()
    }
}

/// Returns the output, with a status line in brackets if needed. `before` is the start of the output.
fn output(result: &EvalResult, before: u64) -> String {
    let mut text = format!("{}{}", result.stdout, result.stderr);
    let stands = match result.status {
        Status::Done | Status::Error => None,
        Status::Interrupted => Some("interrupted".to_owned()),
        Status::WaitingForInput => Some("it waits for input: send gives it a line".to_owned()),
        Status::Exited | Status::Crashed | Status::Killed => Some("GHCi process has terminated".to_owned()),
        Status::Starting | Status::Queued | Status::Running => {
            Some(format!("{}: read with cursor {before} gives its output as it comes", result.status.name()))
        }
    };
    let cut = result.truncated.is_some().then(|| format!("shortened: read with cursor {before} gives all of it"));
    for line in [cut, stands].into_iter().flatten() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{line}]"));
    }
    text
}

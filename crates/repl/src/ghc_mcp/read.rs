//! `read`: GHCi's output since a cursor.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Tool, ToolError};
use process::output::Query;
use process::output::text::strip_escapes;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Reply;
use crate::session::SessionError;
use crate::sessions::Repl;
use crate::tools::{budget, caller, with_heartbeat};

/// The maximum number of bytes that one call returns.
const MAX_BYTES: usize = 12_000;

/// Read GHCi's output from a cursor on. Waits up to timeout_ms for new output. The last line gives the cursor to
/// continue from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Where to begin: the cursor from the last read (default 0, the beginning).
    #[serde(default)]
    cursor: u64,
    /// How long to wait for new output, in ms (default 0, at most 50000).
    timeout_ms: Option<u64>,
    /// Session name (default: this worktree's own session).
    session: Option<String>,
}

pub(super) struct ReadTool(pub(super) Arc<Repl>);

impl Tool for ReadTool {
    const NAME: &'static str = "read";
    const TITLE: &'static str = "Read GHCi's output";
    const EFFECT: Effect = Effect::READ;
    const STRUCTURED: bool = false;
    type Args = Args;
    type Output = Reply;

    async fn call(&self, cx: Context, args: Args) -> Result<Reply, ToolError> {
        let log = self.0.output(caller(&cx)?, args.session.as_deref())?.log;
        let wait = budget(&cx, args.timeout_ms, Duration::ZERO);
        let mut end = log.end();
        let newer = async {
            // On a timeout or after the end, the output so far is the answer.
            let _ = tokio::time::timeout(wait, end.wait_for(|end| *end > args.cursor)).await;
            Ok::<_, SessionError>(())
        };
        with_heartbeat(&cx, "waiting for output", newer).await?;
        let slice = log.read(Query::since(args.cursor).with_notes().at_most(MAX_BYTES)).await;
        let bytes = slice.bytes();
        let mut text = String::from_utf8_lossy(&strip_escapes(&bytes)).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if slice.missing > 0 {
            text.push_str(&format!("[{} bytes were dropped]\n", slice.missing));
        }
        let more = if slice.cut { ", there is more" } else { "" };
        Ok(Reply::new(format!("{text}[cursor {}{more}]", slice.next)))
    }

    fn text(output: &Reply) -> String {
        output.text.clone()
    }
}

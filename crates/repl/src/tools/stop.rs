//! `repl_stop`: ends a session.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{caller, with_heartbeat};
use crate::session::{SessionError, SessionState};
use crate::sessions::Repl;

/// End a session: its process, its child processes and its queue. Its output stays readable with repl_read. To stop
/// only the running evaluation, use repl_interrupt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default "main").
    #[serde(alias = "name")]
    pub session: Option<String>,
}

/// The end of the session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The session.
    pub session: String,
    /// Its state now.
    pub state: SessionState,
    /// How it ended.
    pub reason: String,
    /// True if it had already ended.
    pub already: bool,
}

pub(super) struct Stop(pub(super) Arc<Repl>);

impl Tool for Stop {
    const NAME: &'static str = "repl_stop";
    const TITLE: &'static str = "End a session";
    const EFFECT: Effect = Effect::DESTRUCTIVE.idempotent();
    const REPEAT: Repeat = super::REPEAT;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let handle = self.0.find(caller(&cx)?, args.session.as_deref())?;
        let already = !handle.is_alive();
        let stop = async {
            handle.stop("it was stopped").await;
            Ok::<_, SessionError>(handle.info())
        };
        let info = with_heartbeat(&cx, "ending it", stop).await?;
        Ok(Output { session: info.name, state: info.state, reason: info.reason.unwrap_or_default(), already })
    }

    fn text(output: &Output) -> String {
        let Output { session, reason, .. } = output;
        let state = match output.state {
            SessionState::Stopped => String::new(),
            state => format!("{}, ", state.name()),
        };
        let already = if output.already { "had ended already: " } else { "" };
        format!("[{session}: {already}{state}{reason}; repl_read {{\"session\": {session:?}}} has its output]")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "End this worktree's session", arguments: json!({}), text: None }]
    }
}

//! `repl_eval`: evaluates code, starting the session if needed.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{budget, caller, output_limit, with_heartbeat};
use crate::result::EvalResult;
use crate::session::EvalRequest;
use crate::sessions::Repl;
use crate::text;

/// Evaluate code in a live REPL that keeps its state between calls. Starts the session if needed (cabal, stack, GHCi,
/// Python or bash, as the project suggests). Returns the output, errors and diagnostics; if the code runs longer than
/// wait_ms it goes on, and repl_wait collects it. One evaluation runs at a time per session, others queue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Code of one or more lines, or a command of the REPL such as `:type map`.
    pub code: String,
    /// The session; default is this worktree's own.
    pub session: Option<String>,
    /// How long to wait for the end, start-up and queueing included; default 20000, at most 50000.
    pub wait_ms: Option<u64>,
    /// How much output to return; default 12000, and 2048 bytes of a line. repl_read has the rest.
    pub max_bytes: Option<usize>,
    /// What the code reads from its standard input.
    pub stdin: Option<String>,
}

pub(super) struct Eval(pub(super) Arc<Repl>);

impl Tool for Eval {
    const NAME: &'static str = "repl_eval";
    const TITLE: &'static str = "Evaluate code";
    const EFFECT: Effect = Effect::DESTRUCTIVE.open_world();
    const REPEAT: Repeat = super::REPEAT;
    type Args = Args;
    type Output = EvalResult;

    async fn call(&self, cx: Context, args: Args) -> Result<EvalResult, ToolError> {
        let request = EvalRequest {
            code: args.code,
            stdin: args.stdin,
            wait: budget(&cx, args.wait_ms, Duration::from_secs(20)),
            max_bytes: output_limit(args.max_bytes),
        };
        let answer = self.0.eval(caller(&cx)?, args.session.as_deref(), request);
        let (mut result, notes) = with_heartbeat(&cx, "evaluating", answer).await?;
        result.notes.splice(0..0, notes);
        Ok(result)
    }

    fn text(output: &EvalResult) -> String {
        text::evaluation(output)
    }

    fn examples() -> Vec<Example> {
        vec![
            Example { title: "Evaluate an expression", arguments: json!({"code": "1+1"}), text: None },
            Example {
                title: "Define and use, with input for the program",
                arguments: json!({"code": "greet = fmap (\"hello \" ++) getLine\ngreet", "stdin": "world\n"}),
                text: None,
            },
        ]
    }
}

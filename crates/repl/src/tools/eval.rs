//! `repl_eval`: evaluates code, starting the session if needed.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Content, Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{attach_connection, budget, caller, output_limit, reader, with_heartbeat};
use crate::pictures;
use crate::result::EvalResult;
use crate::session::EvalRequest;
use crate::sessions::Repl;
use crate::text;

/// Evaluate code in a live REPL: cabal, stack, GHCi, Python, Node or bash, chosen by the project. Starts the session if
/// needed; definitions and loaded modules are kept for later calls. One evaluation runs at a time, others are queued.
/// One that outlasts wait_ms continues: collect it with repl_wait. A program that needs a terminal runs in
/// a session of the profile terminal, whose answers are its screen.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The code, or a REPL command such as `:type map`.
    #[serde(alias = "expr", alias = "expression", alias = "command")]
    pub code: String,
    /// Session name (default "main").
    #[serde(alias = "name")]
    pub session: Option<String>,
    /// Profile of a new session: ghci, cabal, stack, python, node, bash (default: `profile` of [repl], else detected).
    pub profile: Option<String>,
    /// How long to wait for the result, in ms (default 20000, at most 50000).
    #[serde(alias = "timeout_ms", alias = "timeout")]
    pub wait_ms: Option<u64>,
    /// Output limit in bytes (default 12000).
    pub max_bytes: Option<usize>,
    /// The complete standard input.
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
        let caller = caller(&cx)?;
        let request = EvalRequest {
            code: args.code,
            stdin: args.stdin,
            wait: budget(&cx, args.wait_ms, Duration::from_secs(20)),
            max_bytes: output_limit(args.max_bytes),
            reader: reader(caller),
        };
        let answer = self.0.eval_with(caller, args.session.as_deref(), args.profile.as_deref(), request);
        let answer = with_heartbeat(&cx, "evaluating", answer).await;
        // Whatever the outcome of the call, the connection is a user of the running code until it closes.
        if let Ok(handle) = self.0.find(caller, args.session.as_deref()) {
            attach_connection(&cx, &handle);
        }
        let (mut result, notes) = answer?;
        result.notes.splice(0..0, notes);
        Ok(result)
    }

    fn text(output: &EvalResult) -> String {
        text::evaluation(output)
    }

    fn content(output: &EvalResult) -> Vec<Content> {
        pictures::content(Self::text(output), output)
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

//! `repl_wait`: waits for an evaluation that outlasted its call.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Content, Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{attach_connection, budget, caller, view, with_heartbeat};
use crate::lenient::number;
use crate::pictures;
use crate::result::EvalResult;
use crate::session::{Handle, View};
use crate::sessions::{Repl, check_started};
use crate::text;

/// Wait for a running evaluation. Returns its new output, or its result once it has ended. Returns early if it waits for input.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The evaluation's number (default: the last one).
    #[serde(default, deserialize_with = "number")]
    #[schemars(with = "Option<u64>")]
    pub eval: Option<u64>,
    /// Session name (default "main").
    #[serde(alias = "name")]
    pub session: Option<String>,
    /// How long to wait, in ms (default 20000).
    #[serde(alias = "timeout_ms", alias = "timeout")]
    pub wait_ms: Option<u64>,
    /// Output limit in bytes (default 12000).
    pub max_bytes: Option<usize>,
}

/// Waits until an evaluation has ended or waits for input.
pub(super) async fn wait_for(
    repl: &Repl,
    cx: &Context,
    handle: &Handle,
    eval: Option<u64>,
    wait: Duration,
    view: View,
) -> Result<EvalResult, ToolError> {
    let answer = async { check_started(handle, handle.wait_on(eval, wait, view).await).await };
    let mut result = with_heartbeat(cx, "waiting", answer).await?;
    result.notes.extend(repl.loaded_notes(handle, &result, repl.look_at_sources(handle)).await);
    Ok(result)
}

pub(super) struct Wait(pub(super) Arc<Repl>);

impl Tool for Wait {
    const NAME: &'static str = "repl_wait";
    const TITLE: &'static str = "Wait for an evaluation";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = EvalResult;

    async fn call(&self, cx: Context, args: Args) -> Result<EvalResult, ToolError> {
        let handle = match args.eval {
            Some(eval) => self.0.find_eval(caller(&cx)?, args.session.as_deref(), eval).await?,
            None => self.0.find(caller(&cx)?, args.session.as_deref())?,
        };
        attach_connection(&cx, &handle);
        let wait = budget(&cx, args.wait_ms, Duration::from_secs(20));
        wait_for(&self.0, &cx, &handle, args.eval, wait, view(caller(&cx)?, args.max_bytes)).await
    }

    fn text(output: &EvalResult) -> String {
        text::evaluation(output)
    }

    fn content(output: &EvalResult) -> Vec<Content> {
        pictures::content(Self::text(output), output)
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Wait for the last evaluation", arguments: json!({"wait_ms": 30000}), text: None }]
    }
}

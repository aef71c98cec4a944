//! `repl_interrupt`: the verified interrupt.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{caller, held, room};
use crate::session::{EvalResult, InterruptOutcome, SessionState};
use crate::sessions::Repl;
use crate::text;

/// Interrupt the running evaluation and make sure that the session is usable afterwards; definitions stay. Queued
/// evaluations run next. If it does not react within 10 s, only repl_restart helps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The session; default is this worktree's own.
    pub session: Option<String>,
    /// How much of the evaluation's output to return; default 12000.
    pub max_bytes: Option<usize>,
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The session.
    pub session: String,
    /// What became of the interrupt.
    pub outcome: InterruptOutcome,
    /// How long it took, in milliseconds.
    pub took_ms: f64,
    /// The evaluation it was about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub eval: Option<EvalResult>,
    /// What else is worth knowing.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

/// The tool.
pub(super) struct Interrupt(pub(super) Arc<Repl>);

impl Tool for Interrupt {
    const NAME: &'static str = "repl_interrupt";
    const TITLE: &'static str = "Interrupt";
    const EFFECT: Effect = Effect::WRITE;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let handle = self.0.find(caller(&cx)?, args.session.as_deref())?;
        let report = held(&cx, "interrupting", handle.interrupt(room(args.max_bytes))).await?;
        let took_ms = (report.took.as_secs_f64() * 1e4).round() / 10.0;
        let info = handle.info();
        let mut notes = Vec::new();
        if report.outcome == InterruptOutcome::Idle && info.state == SessionState::Starting {
            notes.push(match info.queue_depth {
                0 => "The session is still starting; repl_stop ends it.".to_owned(),
                queued => format!("The session is still starting, and {queued} queued; repl_stop ends it."),
            });
        }
        Ok(Output { session: info.name, outcome: report.outcome, took_ms, eval: report.eval, notes })
    }

    fn text(output: &Output) -> String {
        let outcome = match output.outcome {
            InterruptOutcome::Idle => "Nothing runs.",
            InterruptOutcome::Interrupted => "Interrupted; the session is ready.",
            InterruptOutcome::Finished => "It had ended by itself; the session is ready.",
            InterruptOutcome::Uninterruptible => "It does not react to interrupts; repl_restart starts anew.",
            InterruptOutcome::Ended => "The session has ended; repl_restart starts anew.",
        };
        let eval = output.eval.as_ref().map(text::evaluation);
        let lines = [outcome.to_owned()].into_iter().chain(eval).chain(output.notes.iter().cloned());
        lines.collect::<Vec<_>>().join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Stop what runs", arguments: json!({}), text: None }]
    }
}

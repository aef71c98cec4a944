//! `repl_interrupt`: interrupts an evaluation and verifies that it has ended.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{caller, output_limit, with_heartbeat};
use crate::result::{EvalResult, Status};
use crate::session::{InterruptOutcome, SessionState};
use crate::sessions::Repl;
use crate::text;

/// Interrupt the running evaluation and make sure that nothing of it goes on; definitions stay. It is sent one signal and
/// may clean up; the answer comes when it has ended, or after 10 s. Queued evaluations run next.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The session; default is this worktree's own.
    pub session: Option<String>,
    /// The evaluation that is meant; refused if another one runs.
    pub eval: Option<u64>,
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
    /// What goes on, or what is left behind.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rest: Option<String>,
    /// What else is worth knowing.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

pub(super) struct Interrupt(pub(super) Arc<Repl>);

impl Tool for Interrupt {
    const NAME: &'static str = "repl_interrupt";
    const TITLE: &'static str = "Interrupt";
    const EFFECT: Effect = Effect::WRITE;
    const REPEAT: Repeat = super::REPEAT;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let handle = match args.eval {
            Some(eval) => self.0.find_eval(caller(&cx)?, args.session.as_deref(), eval).await?,
            None => self.0.find(caller(&cx)?, args.session.as_deref())?,
        };
        let interrupt = handle.interrupt_one(args.eval, output_limit(args.max_bytes));
        let report = with_heartbeat(&cx, "interrupting", interrupt).await?;
        let took_ms = (report.took.as_secs_f64() * 1e4).round() / 10.0;
        let info = handle.info();
        let mut notes = Vec::new();
        if report.outcome == InterruptOutcome::Idle && info.state == SessionState::Starting {
            notes.push(match info.queue_depth {
                0 => "The session is still starting; repl_stop ends it.".to_owned(),
                queued => format!("The session is still starting, and {queued} queued; repl_stop ends it."),
            });
        }
        let (session, outcome, eval, rest) = (info.name, report.outcome, report.eval, report.rest);
        Ok(Output { session, outcome, took_ms, eval, rest, notes })
    }

    fn text(output: &Output) -> String {
        let outcome = outcome(output);
        let eval = output.eval.as_ref().map(text::evaluation);
        let lines = [outcome].into_iter().chain(eval).chain(output.notes.iter().cloned());
        lines.collect::<Vec<_>>().join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![
            Example { title: "Stop what runs", arguments: json!({}), text: None },
            Example { title: "Stop this evaluation and no other", arguments: json!({"eval": 7}), text: None },
        ]
    }
}

/// What became of it, and what to do about it.
fn outcome(output: &Output) -> String {
    let (eval, running) = output.eval.as_ref().map_or((0, false), |eval| (eval.eval, !eval.status.is_final()));
    let rest = output.rest.as_deref().unwrap_or("goes on");
    let again = format!(
        "repl_wait {{\"eval\": {eval}}} waits on; repl_interrupt {{\"eval\": {eval}}} sends another signal, which may cut a cleanup off"
    );
    let restart =
        format!("repl_restart {{\"session\": {:?}, \"replay\": \"definitions\"}} starts anew", output.session);
    let waits = output.eval.as_ref().is_some_and(|eval| eval.status == Status::WaitingForInput);
    match output.outcome {
        InterruptOutcome::Idle => "Nothing runs.".to_owned(),
        InterruptOutcome::Interrupted => match &output.rest {
            None => "Interrupted; the session is ready.".to_owned(),
            Some(rest) => format!("Interrupted; the session takes code, but {rest}."),
        },
        InterruptOutcome::Finished => match &output.rest {
            None => "It ended by itself, or caught the interrupt and ended; the session is ready.".to_owned(),
            Some(rest) => {
                format!("It ended by itself, or caught the interrupt and ended; the session takes code, but {rest}.")
            }
        },
        InterruptOutcome::NotYet if waits => {
            format!(
                "It has caught the signal and {rest}: answer with repl_input {{\"eval\": {eval}, \"text\": …}}. Or: {again}."
            )
        }
        InterruptOutcome::NotYet => {
            format!(
                "The signal is sent, and it has not ended yet: it {rest}. It cleans up, waits for a child, or has caught the signal. {again}."
            )
        }
        InterruptOutcome::Uninterruptible if running => {
            format!(
                "It does not end: it {rest}. It does not react to the signal, or its cleanup takes long. {again}; {restart}."
            )
        }
        InterruptOutcome::Uninterruptible => {
            format!("The prompt is back, but something that it started {rest} behind it. {restart}.")
        }
        InterruptOutcome::Ended => format!("The session has ended; {restart}."),
    }
}

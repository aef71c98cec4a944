//! `repl_interrupt`: interrupts an evaluation and verifies that it has ended.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{attach_connection, caller, view, with_heartbeat};
use crate::lenient::number;
use crate::result::{EvalResult, Status};
use crate::session::{InterruptOutcome, SessionState};
use crate::sessions::Repl;
use crate::text;

/// Stop the running evaluation and verify that it stopped. Definitions are kept. Returns when it has stopped, after 10
/// s at most.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default "main").
    #[serde(alias = "name")]
    pub session: Option<String>,
    /// Stop only this evaluation, running or queued (default: the running one).
    #[serde(default, deserialize_with = "number")]
    #[schemars(with = "Option<u64>")]
    pub eval: Option<u64>,
    /// Output limit in bytes (default 12000).
    pub max_bytes: Option<usize>,
}

/// The result of the interrupt.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The session.
    pub session: String,
    /// The outcome of the interrupt.
    pub outcome: InterruptOutcome,
    /// The time it took, in milliseconds.
    pub took_ms: f64,
    /// The affected evaluation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub eval: Option<EvalResult>,
    /// A description of the code that still runs or was left behind.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rest: Option<String>,
    /// Further notes.
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
        attach_connection(&cx, &handle);
        let interrupt = handle.interrupt_one(args.eval, view(caller(&cx)?, args.max_bytes));
        let report = with_heartbeat(&cx, "interrupting", interrupt).await?;
        let took_ms = (report.took.as_secs_f64() * 1e4).round() / 10.0;
        let info = handle.info();
        let mut notes = Vec::new();
        if report.outcome == InterruptOutcome::Idle && info.state == SessionState::Starting {
            let queued = match info.queue_depth {
                0 => String::new(),
                queued => format!(", with {queued} queued"),
            };
            notes.push(format!(
                "The session is still starting{queued}; repl_stop {{\"session\": {:?}}} ends it.",
                info.name
            ));
        }
        if report.outcome == InterruptOutcome::Idle && handle.screen().is_some() {
            notes.push("The program waits for keys; repl_input {\"text\": \"<C-c>\"} types Ctrl-C.".to_owned());
        }
        let (session, outcome, eval, rest) = (info.name, report.outcome, report.eval, report.rest);
        Ok(Output { session, outcome, took_ms, eval, rest, notes })
    }

    fn text(output: &Output) -> String {
        let said = match &output.eval {
            Some(eval) => text::evaluation_and(eval, &next(output, eval)),
            None if output.outcome == InterruptOutcome::Idle => format!("[{}: nothing runs]", output.session),
            None => format!("[{}: the session has ended; {}]", output.session, restart(output)),
        };
        [said].into_iter().chain(output.notes.iter().cloned()).collect::<Vec<_>>().join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![
            Example { title: "Stop the running evaluation", arguments: json!({}), text: None },
            Example { title: "Stop this evaluation and no other", arguments: json!({"eval": 7}), text: None },
        ]
    }
}

/// Describes the outcome beyond the evaluation's status, and suggests the next call.
fn next(output: &Output, result: &EvalResult) -> String {
    let (eval, running) = (result.eval, !result.status.is_final());
    let rest = output.rest.as_deref().unwrap_or("continues");
    let again = format!(
        "repl_wait {{\"eval\": {eval}}} continues to wait; repl_interrupt {{\"eval\": {eval}}} sends another signal, which may cut a cleanup off"
    );
    // The evaluation's notes describe other code that is still running.
    let ready = if output.rest.is_some() { "the session takes code" } else { "the session is ready" };
    match output.outcome {
        InterruptOutcome::Idle | InterruptOutcome::Interrupted => ready.to_owned(),
        InterruptOutcome::Withdrawn => "the running evaluation continues".to_owned(),
        InterruptOutcome::Finished => format!("it ended on its own, or caught the interrupt and ended; {ready}"),
        InterruptOutcome::NotYet if result.status == Status::WaitingForInput => {
            format!(
                "it has caught the signal and {rest}: answer with repl_input {{\"eval\": {eval}, \"text\": …}}; or {again}"
            )
        }
        InterruptOutcome::NotYet => {
            format!(
                "the signal is sent, and it {rest}: it cleans up, waits for a child, or has caught the signal; {again}"
            )
        }
        InterruptOutcome::Uninterruptible if running => {
            format!("it {rest}: it does not react, or its cleanup takes long; {again}; {}", restart(output))
        }
        InterruptOutcome::Uninterruptible => {
            format!("the prompt is back, but code that it started {rest} in the background; {}", restart(output))
        }
        InterruptOutcome::Ended => restart(output),
    }
}

fn restart(output: &Output) -> String {
    format!("repl_restart {{\"session\": {:?}, \"replay\": \"definitions\"}} starts it again", output.session)
}

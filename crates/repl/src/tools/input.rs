//! `repl_input`: sends input to the running program.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Content, Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::wait::wait_for;
use super::{attach_connection, budget, caller, reader, view, with_heartbeat};
use crate::lenient::number;
use crate::pictures;
use crate::result::EvalResult;
use crate::session::{EvalRequest, InputOutcome, View};
use crate::sessions::Repl;
use crate::text;

/// How long a program may take to react, if the caller names no other time.
const REACTION: Duration = Duration::from_secs(5);
/// The key that ends the input of a program that reads lines.
const CONTROL_D: &str = "\x04";

/// Send standard input to the program that an evaluation runs, line by line as it asks. Unread input is dropped at its
/// end. Returns the new output once the program asks again or has ended. If the input is known beforehand, use `stdin` of
/// repl_eval instead. A program on a terminal gets keys, with names such as <Enter>, <Esc>, <Up> or <C-c>, and its
/// screen is returned.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The input; each line ends with \n.
    #[serde(default, alias = "input", alias = "stdin")]
    pub text: String,
    /// The evaluation to send to; an error if another one is running.
    #[serde(default, deserialize_with = "number")]
    #[schemars(with = "Option<u64>")]
    pub eval: Option<u64>,
    /// Close standard input afterwards. In GHCi and bash this also ends the session after the evaluation.
    #[serde(default)]
    pub eof: bool,
    /// Session name (default "main").
    #[serde(alias = "name")]
    pub session: Option<String>,
    /// How long to wait for the program's reaction, in ms (default 5000).
    #[serde(alias = "timeout_ms", alias = "timeout")]
    pub wait_ms: Option<u64>,
}

/// The result of sending input.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The session.
    pub session: String,
    /// The evaluation that receives it.
    pub eval: u64,
    /// Bytes queued until the program asks for them.
    pub pending: usize,
    /// True if standard input is then closed.
    pub closed: bool,
    /// True if the input ends within a line, so that a program that reads lines still waits for the rest.
    pub open_line: bool,
    /// The evaluation with its output since the input, unless `wait_ms` was 0.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub evaluation: Option<EvalResult>,
    /// The screen of a program on a terminal, once it waits for keys.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub screen: Option<String>,
    /// True if that program is still busy.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub busy: bool,
    /// The reason if the session has ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<String>,
}

pub(super) struct Input(pub(super) Arc<Repl>);

impl Tool for Input {
    const NAME: &'static str = "repl_input";
    const TITLE: &'static str = "Give input";
    const EFFECT: Effect = Effect::WRITE;
    const REPEAT: Repeat = super::REPEAT;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        if args.text.is_empty() && !args.eof {
            return Err(ToolError::user("No input was given.").hint("Put a line in `text`, or set `eof`."));
        }
        let handle = match args.eval {
            Some(eval) => self.0.find_eval(caller(&cx)?, args.session.as_deref(), eval).await?,
            None => self.0.find(caller(&cx)?, args.session.as_deref())?,
        };
        attach_connection(&cx, &handle);
        let wait = budget(&cx, args.wait_ms, REACTION);
        if let Some(screen) = handle.screen() {
            let end = if args.eof { CONTROL_D } else { "" };
            let keys = screen.keys(&args.text) + end;
            let request = EvalRequest { stdin: Some(keys), wait, ..EvalRequest::new("") };
            let result = with_heartbeat(&cx, "typing", handle.eval(request)).await?;
            let (busy, ended) = (!result.status.is_final(), handle.info().reason);
            let EvalResult { session, eval, value: screen, .. } = result;
            let (pending, closed, open_line, evaluation) = (0, false, false, None);
            return Ok(Output { session, eval, pending, closed, open_line, evaluation, screen, busy, ended });
        }
        let open_line = !args.eof && !args.text.ends_with('\n');
        let view = View { reader: Some(caller(&cx)?.connection), ..view(caller(&cx)?, None) };
        if !wait.is_zero() && reader(caller(&cx)?).is_none() {
            // A caller without a reader gets only the output after the input.
            drop(handle.wait_on(args.eval, Duration::ZERO, view).await);
        }
        let outcome = with_heartbeat(&cx, "giving input", handle.input_to(args.eval, args.text, args.eof)).await?;
        let session = handle.info().name;
        let InputOutcome { eval, pending, closed } = outcome;
        let mut evaluation =
            if wait.is_zero() { None } else { Some(wait_for(&self.0, &cx, &handle, Some(eval), wait, view).await?) };
        if let Some(evaluation) = evaluation.as_mut().filter(|evaluation| open_line && !evaluation.status.is_final()) {
            evaluation.notes.push("The input ended without \\n: a program that reads lines still waits.".to_owned());
        }
        Ok(Output { session, eval, pending, closed, open_line, evaluation, screen: None, busy: false, ended: None })
    }

    fn text(output: &Output) -> String {
        if let Some(screen) = &output.screen {
            let next = match &output.ended {
                Some(reason) => format!("; {reason}"),
                None if output.busy => format!("; busy, repl_wait {{\"eval\": {}}} waits", output.eval),
                None => String::new(),
            };
            let newline = if screen.is_empty() { "" } else { "\n" };
            return format!("{screen}{newline}[{} #{}: keys typed{next}]", output.session, output.eval);
        }
        if let Some(evaluation) = &output.evaluation {
            return text::evaluation(evaluation);
        }
        let closed = if output.closed { "; standard input closes after it" } else { "" };
        let open =
            if output.open_line { "; without \\n at its end, a program that reads lines still waits" } else { "" };
        let Output { session, eval, pending, .. } = output;
        format!(
            "[{session} #{eval}: {pending} bytes given{closed}{open}; repl_wait {{\"eval\": {eval}}} continues to wait]"
        )
    }

    fn content(output: &Output) -> Vec<Content> {
        let text = Self::text(output);
        match &output.evaluation {
            Some(evaluation) => pictures::content(text, evaluation),
            None => vec![Content::Text(text)],
        }
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Answer a question", arguments: json!({"text": "yes\n"}), text: None }]
    }
}

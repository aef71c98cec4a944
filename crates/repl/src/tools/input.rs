//! `repl_input`: gives input to the running program.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{caller, with_heartbeat};
use crate::sessions::Repl;

/// Give standard input to the program that the running evaluation is waiting in. Lines go to it one by one as it asks
/// for them; what it does not read is dropped when the evaluation ends. repl_wait then gives the result.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The input; end lines with \n.
    #[serde(default)]
    pub text: String,
    /// The evaluation that is meant; refused if another one runs.
    pub eval: Option<u64>,
    /// Close standard input after it. In GHCi and bash that also ends the session after the evaluation; in Python every later
    /// read sees the end.
    #[serde(default)]
    pub eof: bool,
    /// The session; default is this worktree's own.
    pub session: Option<String>,
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The session.
    pub session: String,
    /// The evaluation that gets it.
    pub eval: u64,
    /// Bytes that wait until the program asks for them.
    pub pending: usize,
    /// Whether standard input is closed after that.
    pub closed: bool,
    /// Whether it ends within a line, so that a program which reads lines still waits for the rest.
    pub open_line: bool,
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
            return Err(ToolError::user("There is nothing to give.").hint("Put a line in `text`, or set `eof`."));
        }
        let handle = match args.eval {
            Some(eval) => self.0.find_eval(caller(&cx)?, args.session.as_deref(), eval).await?,
            None => self.0.find(caller(&cx)?, args.session.as_deref())?,
        };
        let open_line = !args.eof && !args.text.ends_with('\n');
        let outcome = with_heartbeat(&cx, "giving input", handle.input_to(args.eval, args.text, args.eof)).await?;
        let session = handle.info().name;
        Ok(Output { session, eval: outcome.eval, pending: outcome.pending, closed: outcome.closed, open_line })
    }

    fn text(output: &Output) -> String {
        let closed = if output.closed { "; standard input closes after it" } else { "" };
        let open =
            if output.open_line { "; without \\n at its end, a program that reads lines still waits" } else { "" };
        format!(
            "[{} #{}: {} bytes given{closed}{open}; repl_wait waits on]",
            output.session, output.eval, output.pending
        )
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Answer a question", arguments: json!({"text": "yes\n"}), text: None }]
    }
}

//! `ask_cancel`: withdraws a question.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use project::journal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Board;
use crate::board::BoardError;
use crate::calls::question_call::{asker, failed};
use crate::question::{Event, Question};

/// Withdraw one of your questions that no longer needs an answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Id of the question, or a unique prefix of it.
    pub question: String,
    /// Reason for the withdrawal.
    #[serde(default)]
    pub reason: String,
}

/// The state of the question.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// `cancelled`, or how it was closed before.
    status: String,
    question: String,
}

pub(super) struct AskCancel(pub(super) Arc<Board>);

impl Tool for AskCancel {
    const NAME: &'static str = "ask_cancel";
    const TITLE: &'static str = "Withdraw a question";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (board, asker) = (&self.0, asker(&self.0, &cx)?);
        board.open_if_there();
        let is_mine = |question: &Question| question.asker.is_same_run(&asker) || asker.may_continue(&question.asker);
        let question = board.find_own(&args.question, is_mine).map_err(failed)?;
        let event = Event::Withdraw { reason: args.reason.chars().take(1000).collect(), at_ms: journal::now() };
        match board.change_soon(&question.id, event).await {
            Ok(question) => Ok(Output { status: question.status().to_owned(), question: question.id }),
            // The question was closed before; the answer is delivered as usual.
            Err(BoardError::Closed(question)) => {
                Ok(Output { status: question.status().to_owned(), question: question.id })
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn text(output: &Output) -> String {
        match output.status.as_str() {
            "cancelled" => format!("cancelled: {}", output.question),
            status => format!("too late: {} is {status}; ask_wait returns the answer", output.question),
        }
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"question": "q_7k2mx", "reason": "The branch is gone."});
        vec![Example { title: "A question that no longer needs an answer", arguments, text: None }]
    }
}

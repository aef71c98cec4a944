//! `ask_wait`: waits for the answer to an earlier question, or to any question.

use std::sync::Arc;

use mcp::tool::{Asks, Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use crate::Board;
use crate::answer;
use crate::calls::question_call::{self, asker, failed};
use crate::calls::result::{self, Common, Reply};
use crate::question::{Asker, Kind, Question};

/// Wait for the answer to one of your questions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Id of the question (default: any of yours).
    pub question: Option<String>,
    /// Seconds to wait (default 50, in Claude Code 110).
    pub wait_s: Option<u64>,
}

/// The result of the tool that asked.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(flatten)]
    common: Common,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    selected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guidance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Map<String, Value>>,
    /// The answer in the text result.
    #[serde(skip)]
    lines: Vec<String>,
}

pub(super) struct AskWait(pub(super) Arc<Board>);

impl Tool for AskWait {
    const NAME: &'static str = "ask_wait";
    const TITLE: &'static str = "Wait for an answer";
    const EFFECT: Effect = Effect::READ;
    const ASKS: Asks = Asks::PersonByDialog;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (board, begun) = (&self.0, Instant::now());
        let asker = asker(board, &cx)?;
        let wait = question_call::wait(&cx, args.wait_s);
        board.open_if_there();
        question_call::acknowledge(board, &cx, &asker);
        let question = match args.question {
            Some(id) => {
                let may_read =
                    |question: &Question| question.asker.is_same_run(&asker) || asker.may_read(&question.asker);
                board.find_own(&id, may_read).map_err(failed)?
            }
            None => wait_for_any(board, &cx, &asker, begun + wait).await?,
        };
        let reply = question_call::wait_for(board, &cx, question, begun, wait).await?;
        Ok(Output::new(&reply))
    }

    fn text(output: &Output) -> String {
        result::text(&output.common, &output.lines)
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Any answer, for a minute", arguments: json!({"wait_s": 60}), text: None }]
    }
}

impl Output {
    fn new(reply: &Reply) -> Output {
        let of = |kind| reply.disclosed().filter(|question| question.kind == kind);
        let (selected, custom) = of(Kind::Select).map(answer::selected).unwrap_or_default();
        Output {
            common: reply.common(),
            confirmed: of(Kind::Confirm).map(answer::confirmed),
            selected,
            custom,
            guidance: of(Kind::Guide).and_then(answer::guidance),
            values: of(Kind::Form).and_then(answer::values),
            lines: reply.lines(),
        }
    }
}

/// Returns the first question of this caller that closes, or the last open one at the deadline.
async fn wait_for_any(
    board: &Arc<Board>,
    cx: &Context,
    asker: &Asker,
    deadline: Instant,
) -> Result<Question, ToolError> {
    let mut closings = board.closings();
    loop {
        closings.borrow_and_update();
        let mut mine = board.unsettled();
        mine.retain(|question| question.asker.is_same_run(asker));
        if let Some(closed) = mine.iter().find(|question| question.waits_for_hand_out()) {
            return Ok(closed.clone());
        }
        mine.retain(Question::is_open);
        match mine.as_slice() {
            [] => {
                return Err(ToolError::user("you have no open question")
                    .hint("ask_list with state \"all\" shows earlier ones."));
            }
            // A single question is waited for with its dialog.
            [one] => return Ok(one.clone()),
            [.., last] => {
                let last = last.clone();
                if cx.waits(timeout_at(deadline, closings.changed())).await.is_err() {
                    return Ok(last);
                }
            }
        }
    }
}

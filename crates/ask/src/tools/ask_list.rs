//! `ask_list`: the caller's questions.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use project::journal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Board;
use crate::calls::question_call::{asker, failed};
use crate::question::Question;

/// The maximum number of earlier questions that are searched.
const LOOKED_AT: u32 = 200;

/// List your questions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// State of the listed questions (default open).
    #[serde(default)]
    pub state: StateFilter,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum StateFilter {
    #[default]
    Open,
    All,
}

/// The questions.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    questions: Vec<Listed>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Listed {
    question: String,
    tool: String,
    title: String,
    /// open, answered, declined, cancelled or expired.
    status: String,
    age_s: u64,
}

pub(super) struct AskList(pub(super) Arc<Board>);

impl Tool for AskList {
    const NAME: &'static str = "ask_list";
    const TITLE: &'static str = "List questions";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (board, asker) = (&self.0, asker(&self.0, &cx)?);
        board.open_if_there();
        let mut questions = match args.state {
            StateFilter::Open => board.unsettled(),
            StateFilter::All if board.is_open() => {
                board.blocking(|board| board.latest(LOOKED_AT)).await.map_err(failed)?
            }
            StateFilter::All => Vec::new(),
        };
        questions.retain(|question| question.asker.is_same_run(&asker) || asker.may_continue(&question.asker));
        if args.state == StateFilter::Open {
            questions.retain(Question::is_open);
        }
        Ok(Output { questions: questions.iter().map(Listed::new).collect() })
    }

    fn text(output: &Output) -> String {
        if output.questions.is_empty() {
            return "No questions.".to_owned();
        }
        let line = |listed: &Listed| {
            let Listed { question, tool, title, status, age_s } = listed;
            format!("{question} {status}, {tool}, {} ago: {}", project::span(*age_s), project::visible::visible(title))
        };
        output.questions.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Closed ones too", arguments: json!({"state": "all"}), text: None }]
    }
}

impl Listed {
    fn new(question: &Question) -> Listed {
        Listed {
            question: question.id.clone(),
            tool: question.kind.tool().to_owned(),
            title: question.title.clone(),
            status: question.status().to_owned(),
            age_s: journal::now().saturating_sub(question.asked_ms) / 1000,
        }
    }
}

//! `request_guidance`: asks a person for guidance.

use std::sync::Arc;

use mcp::tool::{Asks, Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Board;
use crate::answer;
use crate::calls::question_call::{self, QuestionContent};
use crate::calls::result::{self, Common};
use crate::form::Form;
use crate::question::{Danger, Kind};

/// Ask your user how to proceed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The question.
    pub context: String,
    /// Suggested answers.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// Seconds to wait (default 50, in Claude Code 110); 0 returns at once.
    pub wait_s: Option<u64>,
    #[schemars(skip)]
    pub expires: Option<String>,
    #[schemars(skip)]
    #[serde(default)]
    pub urgent: bool,
    #[schemars(skip)]
    pub key: Option<String>,
}

/// The guidance.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(flatten)]
    common: Common,
    /// The text; null without an answer.
    guidance: Option<String>,
    /// The answer in the text result.
    #[serde(skip)]
    lines: Vec<String>,
}

pub(super) struct RequestGuidance(pub(super) Arc<Board>);

impl Tool for RequestGuidance {
    const NAME: &'static str = "request_guidance";
    const TITLE: &'static str = "Ask for guidance";
    // It changes only the list of questions, and an equal call does not ask again, so it may be retried.
    const EFFECT: Effect = Effect::READ;
    const ASKS: Asks = Asks::PersonByDialog;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (kind, form) = (Kind::Guide, Form::guidance(&args.suggestions));
        let asked = QuestionContent {
            kind,
            title: args.context,
            message: String::new(),
            form,
            attachments: Vec::new(),
            danger: Danger::Normal,
        };
        let common =
            question_call::Common { wait_s: args.wait_s, expires: args.expires, urgent: args.urgent, key: args.key };
        let reply = question_call::ask(&self.0, &cx, asked, common).await?;
        Ok(Output {
            common: reply.common(),
            guidance: reply.disclosed().and_then(answer::guidance),
            lines: reply.lines(),
        })
    }

    fn text(output: &Output) -> String {
        result::text(&output.common, &output.lines)
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "Where it could go on in two ways",
            arguments: json!({
                "context": "The test is flaky. Mend the test or the program?",
                "suggestions": ["the test", "the program"]
            }),
            text: None,
        }]
    }
}

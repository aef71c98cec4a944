//! `ask_form`: a form for a person to fill in.

use std::sync::Arc;

use mcp::tool::{Asks, Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Board;
use crate::answer;
use crate::attachment::GivenAttachment;
use crate::calls::question_call::{self, QuestionContent};
use crate::calls::result::{self, Common};
use crate::form::{Field, Form};
use crate::question::{Danger, Kind};

/// Ask your user to fill in a form. Never for secrets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Title of the form.
    pub title: String,
    /// Details.
    #[serde(default)]
    pub message: String,
    /// Fields, at most 20.
    pub fields: Vec<Field>,
    /// Attachments for the user to look at, at most 3.
    #[serde(default)]
    pub attachments: Vec<GivenAttachment>,
    /// Seconds to wait (default 50, in Claude Code 110); 0 returns at once.
    pub wait_s: Option<u64>,
    /// Lifetime of the question, such as 2h (default 24h).
    pub expires: Option<String>,
    /// True if the question is urgent (default false).
    #[serde(default)]
    pub urgent: bool,
    /// Calls with the same key share one question.
    pub key: Option<String>,
}

/// The answer to the form.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(flatten)]
    common: Common,
    /// Values by field; null without an answer.
    values: Option<Map<String, Value>>,
    /// The answer in the text result.
    #[serde(skip)]
    lines: Vec<String>,
}

pub(super) struct AskForm(pub(super) Arc<Board>);

impl Tool for AskForm {
    const NAME: &'static str = "ask_form";
    const TITLE: &'static str = "Ask by a form";
    // It changes only the list of questions, and an equal call does not ask again, so it may be retried.
    const EFFECT: Effect = Effect::READ;
    const ASKS: Asks = Asks::PersonByDialog;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (kind, form) = (Kind::Form, Form(args.fields));
        let asked = QuestionContent {
            kind,
            title: args.title,
            message: args.message,
            form,
            attachments: args.attachments,
            danger: Danger::Normal,
        };
        let common =
            question_call::Common { wait_s: args.wait_s, expires: args.expires, urgent: args.urgent, key: args.key };
        let reply = question_call::ask(&self.0, &cx, asked, common).await?;
        Ok(Output { common: reply.common(), values: reply.disclosed().and_then(answer::values), lines: reply.lines() })
    }

    fn text(output: &Output) -> String {
        result::text(&output.common, &output.lines)
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "Two fields",
            arguments: json!({
                "title": "The release",
                "fields": [
                    {"id": "version", "required": true},
                    {"id": "when", "kind": "date", "help": "Not before the freeze ends."}
                ]
            }),
            text: None,
        }]
    }
}

//! `select_option`: asks a person to choose an option.

use std::sync::Arc;

use mcp::tool::{Asks, Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Board;
use crate::answer;
use crate::calls::options::Options;
use crate::calls::question_call::{self, QuestionContent};
use crate::calls::result::{self, Common};
use crate::form::Form;
use crate::question::{Danger, Kind};

/// Ask your user to choose an option.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The question.
    pub prompt: String,
    /// Options, `[id, label]` each.
    pub options: Options,
    #[serde(default = "yes")]
    #[schemars(skip)]
    pub allow_custom: bool,
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

/// The choice.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(flatten)]
    common: Common,
    /// An option's id, `custom`, `cancelled`, or null without an answer.
    selected: Option<String>,
    /// The custom text.
    custom: Option<String>,
    /// The answer in the text result.
    #[serde(skip)]
    lines: Vec<String>,
}

pub(super) struct SelectOption(pub(super) Arc<Board>);

impl Tool for SelectOption {
    const NAME: &'static str = "select_option";
    const TITLE: &'static str = "Ask for a choice";
    // It changes only the list of questions, and an equal call does not ask again, so it may be retried.
    const EFFECT: Effect = Effect::READ;
    const ASKS: Asks = Asks::PersonByDialog;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let options = args.options.checked()?;
        let (kind, form) = (Kind::Select, Form::select(options, args.allow_custom));
        let asked = QuestionContent {
            kind,
            title: args.prompt,
            message: String::new(),
            form,
            attachments: Vec::new(),
            danger: Danger::Normal,
        };
        let common =
            question_call::Common { wait_s: args.wait_s, expires: args.expires, urgent: args.urgent, key: args.key };
        let reply = question_call::ask(&self.0, &cx, asked, common).await?;
        let (selected, custom) = reply.disclosed().map(answer::selected).unwrap_or_default();
        Ok(Output { common: reply.common(), selected, custom, lines: reply.lines() })
    }

    fn text(output: &Output) -> String {
        result::text(&output.common, &output.lines)
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "One of several ways",
            arguments: json!({
                "prompt": "Which store?", "options": [["sqlite", "SQLite"], ["pg", "PostgreSQL"]], "wait_s": 0
            }),
            text: None,
        }]
    }
}

fn yes() -> bool {
    true
}

//! `confirm_action`: asks a person to allow an action.

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

/// Ask your user to allow an action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The action, as a question.
    pub action: String,
    /// Details.
    #[serde(default)]
    pub details: String,
    /// Danger of the action.
    #[serde(default)]
    pub danger: Danger,
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

/// The answer to the confirmation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(flatten)]
    common: Common,
    /// True only if the person said yes.
    confirmed: bool,
    /// The answer in the text result.
    #[serde(skip)]
    lines: Vec<String>,
}

pub(super) struct ConfirmAction(pub(super) Arc<Board>);

impl Tool for ConfirmAction {
    const NAME: &'static str = "confirm_action";
    const TITLE: &'static str = "Ask for a confirmation";
    // It changes only the list of questions, and an equal call does not ask again, so it may be retried.
    const EFFECT: Effect = Effect::READ;
    const ASKS: Asks = Asks::PersonByDialog;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (kind, form) = (Kind::Confirm, Form::confirm());
        let asked = QuestionContent {
            kind,
            title: args.action,
            message: args.details,
            form,
            attachments: Vec::new(),
            danger: args.danger,
        };
        let common =
            question_call::Common { wait_s: args.wait_s, expires: args.expires, urgent: args.urgent, key: args.key };
        let reply = question_call::ask(&self.0, &cx, asked, common).await?;
        Ok(Output {
            common: reply.common(),
            confirmed: reply.disclosed().is_some_and(answer::confirmed),
            lines: reply.lines(),
        })
    }

    fn text(output: &Output) -> String {
        result::text(&output.common, &output.lines)
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "Before something that cannot be undone",
            arguments: json!({"action": "Delete the branch release-1?", "details": "It has 3 commits that main lacks."}),
            text: None,
        }]
    }
}

//! `create_group`: makes a group.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::callers::Callers;
use crate::error::failed;

/// Make a group of agents, which messages can be sent to. add_group_member fills it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Its name: a-z, 0-9, _ and -.
    pub name: String,
    /// The purpose of the group.
    #[serde(default)]
    pub description: String,
}

/// The group.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// `created`.
    pub status: String,
    /// Its name.
    pub name: String,
}

pub(super) struct CreateGroup(pub(super) Arc<Callers>);

impl Tool for CreateGroup {
    const NAME: &'static str = "create_group";
    const TITLE: &'static str = "Make a group";
    const EFFECT: Effect = Effect::WRITE;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        mail.create_group(&session, &args.name, &args.description).await.map_err(failed)?;
        Ok(Output { status: "created".to_owned(), name: args.name })
    }

    fn text(output: &Output) -> String {
        format!("{}: {}", output.status, output.name)
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "A group",
            arguments: json!({"name": "backend", "description": "who works on the server"}),
            text: Some("created: backend"),
        }]
    }
}

//! `delete_group`: deletes a group; messages sent to it stay.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::callers::Callers;
use crate::error::failed;

/// Delete a group. Messages that were sent to it stay where they are. `everyone` cannot be deleted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Its name.
    pub name: String,
}

/// The group.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// `deleted`.
    pub status: String,
    /// Its name.
    pub name: String,
}

pub(super) struct DeleteGroup(pub(super) Arc<Callers>);

impl Tool for DeleteGroup {
    const NAME: &'static str = "delete_group";
    const TITLE: &'static str = "Delete a group";
    const EFFECT: Effect = Effect::DESTRUCTIVE;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        mail.delete_group(&session, &args.name).await.map_err(failed)?;
        Ok(Output { status: "deleted".to_owned(), name: args.name })
    }

    fn text(output: &Output) -> String {
        format!("{}: {}", output.status, output.name)
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Delete it", arguments: json!({"name": "backend"}), text: None }]
    }
}

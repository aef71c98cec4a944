//! `remove_group_member`: takes an agent or a role out of a group.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::callers::Callers;
use crate::error::failed;
use crate::membership::{Membership, Output};

/// Remove an agent or a role from a group. Messages sent before stay where they are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Args(pub(super) Membership);

pub(super) struct RemoveGroupMember(pub(super) Arc<Callers>);

impl Tool for RemoveGroupMember {
    const NAME: &'static str = "remove_group_member";
    const TITLE: &'static str = "Remove from a group";
    const EFFECT: Effect = Effect::DESTRUCTIVE.idempotent();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, Args(asked): Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        let member = asked.member()?;
        let changed = mail.remove_member(&session, &asked.group, member.clone()).await.map_err(failed)?;
        Ok(asked.answer("removed", member, changed))
    }

    fn text(output: &Output) -> String {
        output.text()
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "One agent",
            arguments: json!({"group": "backend", "member_type": "agent", "member_id": "planner"}),
            text: None,
        }]
    }
}

//! `add_group_member`: puts an agent or a role into a group.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::callers::Callers;
use crate::error::failed;
use crate::membership::{Membership, Output};

/// Add an agent, or everybody of a role, to a group. Messages sent before are not touched.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Args(pub(super) Membership);

pub(super) struct AddGroupMember(pub(super) Arc<Callers>);

impl Tool for AddGroupMember {
    const NAME: &'static str = "add_group_member";
    const TITLE: &'static str = "Add to a group";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, Args(asked): Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        let member = asked.member()?;
        let changed = mail.add_member(&session, &asked.group, member.clone()).await.map_err(failed)?;
        Ok(asked.answer("added", member, changed))
    }

    fn text(output: &Output) -> String {
        output.text()
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "A whole role",
            arguments: json!({"group": "backend", "member_type": "role", "member_id": "dev"}),
            text: None,
        }]
    }
}

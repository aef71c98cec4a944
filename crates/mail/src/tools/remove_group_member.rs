//! `remove_group_member`.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::add_group_member::{MemberType, Output};
use super::failed;
use crate::desk::Desk;
use crate::model::MemberKind;
use crate::service::people::member;

/// Remove an agent or a role from a group. Messages sent before stay where they are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The group.
    pub group: String,
    /// agent or role.
    pub member_type: MemberType,
    /// The agent's name, or the role.
    pub member_id: String,
}

/// The tool.
pub(super) struct RemoveGroupMember(pub(super) Arc<Desk>);

impl Tool for RemoveGroupMember {
    const NAME: &'static str = "remove_group_member";
    const TITLE: &'static str = "Remove from a group";
    const EFFECT: Effect = Effect::DESTRUCTIVE.idempotent();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        let Args { group, member_type, member_id } = args;
        let member = member(MemberKind::from(member_type).as_str(), &member_id).map_err(failed)?;
        let changed = mail.remove_member(&session, &group, member).await.map_err(failed)?;
        Ok(Output { status: "removed".to_owned(), group, member_type, member_id, unchanged: !changed })
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

//! `add_group_member`.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::failed;
use crate::desk::Desk;
use crate::model::MemberKind;
use crate::service::people::member;

/// Add an agent, or everybody of a role, to a group. Messages sent before are not touched.
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

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum MemberType {
    /// One agent.
    Agent,
    /// All agents of a role, those that come later too.
    Role,
}

impl From<MemberType> for MemberKind {
    fn from(kind: MemberType) -> MemberKind {
        match kind {
            MemberType::Agent => MemberKind::Agent,
            MemberType::Role => MemberKind::Role,
        }
    }
}

/// What changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// `added` or `removed`.
    pub status: String,
    /// The group.
    pub group: String,
    /// agent or role.
    pub member_type: MemberType,
    /// The agent's name, or the role.
    pub member_id: String,
    /// Whether that was so already.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub unchanged: bool,
}

impl Output {
    pub(super) fn text(&self) -> String {
        let Output { status, group, member_id, .. } = self;
        let kind = MemberKind::from(self.member_type).as_str();
        let already = if self.unchanged { " (it was so already)" } else { "" };
        format!("{status}: {kind} {member_id}, group {group}{already}")
    }
}

/// The tool.
pub(super) struct AddGroupMember(pub(super) Arc<Desk>);

impl Tool for AddGroupMember {
    const NAME: &'static str = "add_group_member";
    const TITLE: &'static str = "Add to a group";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        let Args { group, member_type, member_id } = args;
        let member = member(MemberKind::from(member_type).as_str(), &member_id).map_err(failed)?;
        let changed = mail.add_member(&session, &group, member).await.map_err(failed)?;
        Ok(Output { status: "added".to_owned(), group, member_type, member_id, unchanged: !changed })
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

//! The shared parts of adding to a group and removing from it: arguments, answer, and the address of a member.

use mcp::tool::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::failed;
use crate::model::{Member, MemberKind};
use crate::service::agents::member;

/// A member of a group, as an argument.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Membership {
    /// The group.
    pub group: String,
    /// agent or role.
    pub member_type: MemberType,
    /// The agent's name, or the role.
    pub member_id: String,
}

/// The kind of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MemberType {
    /// One agent.
    Agent,
    /// All agents of a role, those that come later too.
    Role,
}

/// The change.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// `added` or `removed`.
    pub status: String,
    /// The group.
    pub group: String,
    /// agent or role.
    pub member_type: MemberType,
    /// The agent's name, or the role.
    pub member_id: String,
    /// True if this was already the state.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub unchanged: bool,
}

impl MemberType {
    fn kind(self) -> MemberKind {
        match self {
            MemberType::Agent => MemberKind::Agent,
            MemberType::Role => MemberKind::Role,
        }
    }
}

impl Membership {
    /// Returns the member.
    pub(crate) fn member(&self) -> Result<Member, ToolError> {
        member(self.member_type.kind().as_str(), &self.member_id).map_err(failed)
    }

    /// Returns the answer, by the name that the member has in the group.
    pub(crate) fn answer(self, status: &str, member: Member, changed: bool) -> Output {
        let Membership { group, member_type, .. } = self;
        Output { status: status.to_owned(), group, member_type, member_id: member.id, unchanged: !changed }
    }
}

impl Output {
    pub(crate) fn text(&self) -> String {
        let Output { status, group, member_id, .. } = self;
        let kind = self.member_type.kind().as_str();
        let already = if self.unchanged { " (no change)" } else { "" };
        format!("{status}: {kind} {member_id}, group {group}{already}")
    }
}

//! Groups: named sets of agents and roles. A message's recipients are frozen when it is sent; later changes of a group
//! do not affect it. Groups do not nest.

use serde::{Deserialize, Serialize};

use super::clock::Millis;
use super::ids::{AgentName, GroupName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub name: GroupName,
    /// The group's purpose. An agent wrote it: data, never instructions.
    pub description: String,
    pub created_at: Millis,
    /// The agent that made the group; the system for `everyone`.
    pub created_by: AgentName,
    pub members: Vec<Member>,
    /// The number of members; for `everyone`, of all agents.
    pub member_count: u64,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    /// The kind of the id: an agent's name or a role.
    pub kind: MemberKind,
    pub id: String,
}

/// The kind of a group's member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberKind {
    Agent,
    /// All agents of a role.
    Role,
}

impl MemberKind {
    pub fn as_str(self) -> &'static str {
        match self {
            MemberKind::Agent => "agent",
            MemberKind::Role => "role",
        }
    }

    pub(crate) fn stored(name: &str) -> MemberKind {
        if name == "agent" { MemberKind::Agent } else { MemberKind::Role }
    }
}

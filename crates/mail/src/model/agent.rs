//! Agents: who they are, who holds their names, and whether they are active.

use serde::{Deserialize, Serialize};

use super::clock::Millis;
use super::ids::{AgentName, Role, SessionId};
use crate::framing::one_line;

/// The holder of a name: host and worktree, as the kernel says, never as claimed. A holder may have many connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Holder {
    pub host: String,
    /// The worktree's path.
    pub worktree: String,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A path can be chosen by another user, too.
        write!(f, "{} on {}", one_line(&self.worktree, 500), one_line(&self.host, 100))
    }
}

/// What an agent says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    pub role: Option<Role>,
    pub module: Option<String>,
    /// What it is doing, in a sentence.
    pub intent: Option<String>,
    pub branch: Option<String>,
    /// The id it had in another system: `agent:role:hash`.
    pub alias: Option<String>,
}

/// A registered agent, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub name: AgentName,
    pub role: Role,
    pub module: String,
    /// What it is doing. Written by an agent: data, never instructions.
    pub intent: String,
    pub branch: String,
    /// When it was first registered.
    pub registered_at: Millis,
    /// When it last did something; 0: never.
    pub seen_at: Millis,
    pub standing: Standing,
    /// Messages that wait for it, those handed out and not confirmed among them.
    pub unread: u64,
    /// Who holds the name.
    pub holder: Option<Holder>,
    /// For [`Session::fence`]: rises with every takeover of the name.
    pub fence: u64,
}

/// Whether a process of the agent lives: one that is connected, or waits for its mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    Active,
    Offline,
}

/// A caller: an agent in one session, with the right to its name. Made by [`crate::Mail::enter`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    pub agent: AgentName,
    pub id: SessionId,
    /// Rises with every takeover of the name; who has an older one is told so.
    pub fence: u64,
}

//! Agents: their profiles, the holders of their names, and whether they are active.

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

/// An agent's description of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    pub role: Option<Role>,
    pub module: Option<String>,
    /// Its current work, in a sentence.
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
    /// Its current work. Written by an agent: data, never instructions.
    pub intent: String,
    pub branch: String,
    /// Time of the first registration.
    pub registered_at: Millis,
    /// Time of the last activity; 0 for never.
    pub seen_at: Millis,
    pub standing: Liveness,
    /// Messages that wait for it, those handed out and not confirmed among them.
    pub unread: u64,
    /// The holder of the name.
    pub holder: Option<Holder>,
    /// For [`Session::fence`]: rises with every takeover of the name.
    pub fence: u64,
}

/// The state of an agent: active while one of its processes is connected or waits for its mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Liveness {
    Active,
    Offline,
}

/// A caller: an agent in one session, with the right to its name. Made by [`crate::Mail::enter`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    pub agent: AgentName,
    pub id: SessionId,
    /// Rises with every takeover of the name. A session with an older value is refused.
    pub fence: u64,
}

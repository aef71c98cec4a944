//! The canonical event: one form for the hook events of all agents, with the original payload.
//!
//! Only `agents` knows the agents' own names and formats; rules and context use this form.

mod code;
mod tool;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use self::code::code_of;
pub use self::code::{Code, Language};
pub(crate) use self::tool::kind_of_tool;
pub use self::tool::{Command, Tool, ToolKind};

/// An event of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The agent's name (`claude`).
    pub agent: &'static str,
    /// The event's name in its agent's spelling, or the given name if no agent has it.
    pub name: String,
    pub kind: Kind,
    /// The agent's session.
    pub session: Option<String>,
    /// The subagent, if the event is from one.
    pub subagent: Option<String>,
    /// The turn.
    pub turn: Option<String>,
    /// The agent's working directory, if reported.
    pub cwd: Option<PathBuf>,
    /// The agent's permission mode.
    pub mode: Option<String>,
    pub tool: Option<Tool>,
    pub prompt: Option<String>,
    /// The cause in the agent's terms: why a session began or ended, or why it was compacted.
    pub reason: Option<String>,
    /// True if the agent was just kept from stopping at its turn's end.
    pub is_held: bool,
    /// True if the payload could not be parsed: only the agent and the event's name are known.
    pub is_unreadable: bool,
}

/// The kind of an event, in all agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    SessionStart,
    SessionEnd,
    Prompt,
    ToolBefore,
    ToolAfter,
    ToolFailed,
    PermissionRequest,
    TurnEnd,
    TurnFailed,
    Notification,
    SubagentStart,
    SubagentStop,
    CompactBefore,
    CompactAfter,
    Elicitation,
    /// An event that is known only by its own name.
    Other,
}

impl Kind {
    /// Every kind, in documentation order.
    pub const ALL: [Kind; 16] = [
        Kind::SessionStart,
        Kind::SessionEnd,
        Kind::Prompt,
        Kind::ToolBefore,
        Kind::ToolAfter,
        Kind::ToolFailed,
        Kind::PermissionRequest,
        Kind::TurnEnd,
        Kind::TurnFailed,
        Kind::Notification,
        Kind::SubagentStart,
        Kind::SubagentStop,
        Kind::CompactBefore,
        Kind::CompactAfter,
        Kind::Elicitation,
        Kind::Other,
    ];

    /// Returns the name in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::SessionStart => "session_start",
            Kind::SessionEnd => "session_end",
            Kind::Prompt => "prompt",
            Kind::ToolBefore => "tool_before",
            Kind::ToolAfter => "tool_after",
            Kind::ToolFailed => "tool_failed",
            Kind::PermissionRequest => "permission_request",
            Kind::TurnEnd => "turn_end",
            Kind::TurnFailed => "turn_failed",
            Kind::Notification => "notification",
            Kind::SubagentStart => "subagent_start",
            Kind::SubagentStop => "subagent_stop",
            Kind::CompactBefore => "compact_before",
            Kind::CompactAfter => "compact_after",
            Kind::Elicitation => "elicitation",
            Kind::Other => "other",
        }
    }

    /// Returns the kind of that name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Normalizes the spelling of a name: `pre-tool-use`, `preToolUse` and `PreToolUse` are equal.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

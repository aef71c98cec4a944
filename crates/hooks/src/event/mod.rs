//! The canonical event: what any agent's hook event says, in one form, with the payload kept as it came.
//!
//! An agent's own names and shapes are known to `agents` alone; rules and context work on this form.

mod code;
mod tool;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use self::code::code_of;
pub use self::code::{Code, Language};
pub(crate) use self::tool::kind_of_tool;
pub use self::tool::{Command, Tool, ToolKind};

/// One event of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The agent's name (`claude`).
    pub agent: &'static str,
    /// The event's own name, as its agent spells it, or as it was given if no agent has it.
    pub name: String,
    pub kind: Kind,
    /// The agent's session.
    pub session: Option<String>,
    /// The subagent, within one.
    pub subagent: Option<String>,
    /// The turn.
    pub turn: Option<String>,
    /// The agent's working directory, if it says one.
    pub cwd: Option<PathBuf>,
    /// The agent's permission mode.
    pub mode: Option<String>,
    pub tool: Option<Tool>,
    pub prompt: Option<String>,
    /// Why it happened, in its agent's word: how a session began or ended, what had it compacted.
    pub reason: Option<String>,
    /// True if the agent was held at its turn's end just before.
    pub is_held: bool,
    /// True if the payload could not be read, so that all but the agent and the event's name is unknown.
    pub is_unreadable: bool,
}

/// What an event is about, whatever its agent calls it.
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
    /// Known by its own name alone.
    Other,
}

impl Kind {
    /// Every kind, in the order in which they are documented.
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

    /// Its name in rules.
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

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A name without what spellings differ in: `pre-tool-use`, `preToolUse` and `PreToolUse` are one.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

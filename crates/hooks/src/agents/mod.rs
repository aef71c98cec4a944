//! The agents: their events, and the possible answers to each with their format.
//!
//! If an event does not support an answer, the loss is declared: another answer is given and recorded in the journal. Start
//! with [`Agent::row`] and [`Agent::render`]. `docs/generated/hooks.md` has the tables, which are one file each.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod opencode;
mod payload;
mod reaction;
mod render;

use crate::event::{Kind, plain};

pub(crate) use self::payload::{parse, read};
pub use self::reaction::{CLAUDE_ON_FAILURE, Came, Effect, Reaction, Version};
pub use self::render::{Answer, Fail, Loss, Rendered, Verdict};

/// A coding agent with hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agent {
    Claude,
    Codex,
    Gemini,
    Cursor,
    Copilot,
    Opencode,
}

/// An event of an agent, and the answers that it supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The name in the agent's spelling.
    pub name: &'static str,
    pub kind: Kind,
    pub deny: Deny,
    /// True if the agent's own prompt can be asked for.
    pub asks: bool,
    /// True if text can be added to the model's context.
    pub takes_context: bool,
}

/// The way in which an answer to an event prevents something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deny {
    /// The event cannot prevent anything.
    Never,
    /// By a decision about a tool.
    Tool,
    /// By a decision about a permission request.
    Request,
    /// By a block with a reason. At a turn's end this holds the agent, which reads the reason.
    Block,
    /// By stopping the subject of the event.
    Stop,
    /// By declining a form.
    Decline,
    /// By the exit status 2.
    Exit,
}

impl Row {
    /// Creates an event that only informs hob.
    const fn new(name: &'static str, kind: Kind) -> Row {
        Row { name, kind, deny: Deny::Never, asks: false, takes_context: false }
    }

    const fn denied_by(self, deny: Deny) -> Row {
        Row { deny, ..self }
    }

    const fn asks(self) -> Row {
        Row { asks: true, ..self }
    }

    const fn takes_context(self) -> Row {
        Row { takes_context: true, ..self }
    }

    /// Returns true if an answer can hold the agent, which then reads the reason and goes on.
    pub fn holds(&self) -> bool {
        self.deny == Deny::Block && matches!(self.kind, Kind::TurnEnd | Kind::SubagentStop)
    }

    /// Returns true if the agent waits for the answer and obeys a refusal. Such events can fail closed.
    pub fn is_gate(&self) -> bool {
        self.deny != Deny::Never && matches!(self.kind, Kind::ToolBefore | Kind::PermissionRequest | Kind::Prompt)
    }
}

impl Agent {
    /// Every agent, in report order.
    pub const ALL: [Agent; 6] =
        [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Cursor, Agent::Copilot, Agent::Opencode];

    /// Returns the name for the command line, as in `hob init`.
    pub fn name(self) -> &'static str {
        match self {
            Agent::Claude => "claude",
            Agent::Codex => "codex",
            Agent::Gemini => "gemini",
            Agent::Cursor => "cursor",
            Agent::Copilot => "copilot",
            Agent::Opencode => "opencode",
        }
    }

    /// Returns the name for people.
    pub fn title(self) -> &'static str {
        match self {
            Agent::Claude => "Claude Code",
            Agent::Codex => "Codex",
            Agent::Gemini => "Gemini CLI",
            Agent::Cursor => "Cursor",
            Agent::Copilot => "Copilot CLI",
            Agent::Opencode => "opencode",
        }
    }

    /// Returns the agent of that name.
    pub fn named(name: &str) -> Option<Agent> {
        Agent::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// Guesses the agent from a payload, if nothing else names it.
    pub fn of_payload(named: &str, raw: &[u8]) -> Agent {
        let payload = parse(raw).unwrap_or_default();
        let has = |field: &str| payload.get(field).is_some();
        let event = payload.get("hook_event_name").and_then(serde_json::Value::as_str).unwrap_or(named);
        if has("cursor_version") || has("conversation_id") {
            Agent::Cursor
        } else if has("sessionId") || has("toolArgs") {
            Agent::Copilot
        } else if has("turn_id") {
            Agent::Codex
        } else {
            // Claude Code's events belong to it, even if other agents have the same.
            let by_event = Agent::ALL.into_iter().find(|agent| agent.row(event).is_some());
            by_event.unwrap_or(Agent::Claude)
        }
    }

    /// Returns the agent's events.
    pub fn rows(self) -> &'static [Row] {
        match self {
            Agent::Claude => claude::ROWS,
            Agent::Codex => codex::ROWS,
            Agent::Gemini => gemini::ROWS,
            Agent::Cursor => cursor::ROWS,
            Agent::Copilot => copilot::ROWS,
            Agent::Opencode => opencode::ROWS,
        }
    }

    /// Returns the event of that name, in any spelling.
    pub fn row(self, name: &str) -> Option<&'static Row> {
        let name = plain(name);
        self.rows().iter().find(|row| plain(row.name) == name)
    }
}

/// Returns the kind of an event by its name in any agent.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    Agent::ALL.into_iter().find_map(|agent| agent.row(name)).map(|row| row.kind)
}

#[cfg(test)]
mod tests;

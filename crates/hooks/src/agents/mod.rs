//! The agents: which events each has, what an answer to each can say, and how it is written.
//!
//! An answer that an event cannot give is a declared loss: it is said in another way, and journalled. Start with
//! [`Agent::row`] and [`Agent::render`]. The tables, one file each, are written into `docs/generated/hooks.md`.

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

/// One event of an agent, and what an answer to it can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// As the agent spells it.
    pub name: &'static str,
    pub kind: Kind,
    pub deny: Deny,
    /// True if the agent's own prompt can be asked for.
    pub asks: bool,
    /// True if text can be added to the model's context.
    pub takes_context: bool,
}

/// How an answer to an event keeps what it is about from happening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deny {
    /// It cannot.
    Never,
    /// By a decision about a tool.
    Tool,
    /// By a decision about a permission request.
    Request,
    /// By a block with a reason. At a turn's end this holds the agent, which reads the reason.
    Block,
    /// By stopping what the event is about.
    Stop,
    /// By declining a form.
    Decline,
    /// By the exit status 2.
    Exit,
}

impl Row {
    /// An event that is only told.
    const fn told(name: &'static str, kind: Kind) -> Row {
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

    /// Returns true if something waits for the answer and can be kept from happening: what fails closed.
    pub fn is_gate(&self) -> bool {
        self.deny != Deny::Never && matches!(self.kind, Kind::ToolBefore | Kind::PermissionRequest | Kind::Prompt)
    }
}

impl Agent {
    /// Every agent, in the order in which they are reported.
    pub const ALL: [Agent; 6] =
        [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Cursor, Agent::Copilot, Agent::Opencode];

    /// Its name on our command line, as `hob init` has it.
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

    /// Its name for people.
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

    /// The agent of that name.
    pub fn named(name: &str) -> Option<Agent> {
        Agent::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// The agent that a payload is probably of, where nothing else says it.
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
            // What Claude Code has is its own, for others that have the same.
            let by_event = Agent::ALL.into_iter().find(|agent| agent.row(event).is_some());
            by_event.unwrap_or(Agent::Claude)
        }
    }

    /// Its events.
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

    /// The event of that name, in any spelling.
    pub fn row(self, name: &str) -> Option<&'static Row> {
        let name = plain(name);
        self.rows().iter().find(|row| plain(row.name) == name)
    }
}

/// The kind of an event by its name, whichever agent has it.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    Agent::ALL.into_iter().find_map(|agent| agent.row(name)).map(|row| row.kind)
}

#[cfg(test)]
mod tests;

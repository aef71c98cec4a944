//! Copilot CLI's events. An event that is registered in PascalCase comes with Claude Code's fields and tool names; both
//! spellings of it are one here.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::told("sessionStart", Kind::SessionStart).takes_context(),
    Row::told("sessionEnd", Kind::SessionEnd),
    Row::told("userPromptSubmitted", Kind::Prompt).takes_context(),
    Row::told("userPromptSubmit", Kind::Prompt).takes_context(),
    Row::told("userPromptTransformed", Kind::Other),
    Row::told("preToolUse", Kind::ToolBefore).denied_by(Deny::Tool).asks().takes_context(),
    Row::told("postToolUse", Kind::ToolAfter).takes_context(),
    Row::told("postToolUseFailure", Kind::ToolFailed),
    // What asks here is the agent's own prompt, which comes by itself.
    Row::told("permissionRequest", Kind::PermissionRequest).denied_by(Deny::Request).asks(),
    Row::told("agentStop", Kind::TurnEnd).denied_by(Deny::Block),
    Row::told("stop", Kind::TurnEnd).denied_by(Deny::Block),
    Row::told("subagentStart", Kind::SubagentStart),
    Row::told("subagentStop", Kind::SubagentStop).denied_by(Deny::Block),
    Row::told("preCompact", Kind::CompactBefore),
    Row::told("notification", Kind::Notification),
    Row::told("errorOccurred", Kind::TurnFailed),
];

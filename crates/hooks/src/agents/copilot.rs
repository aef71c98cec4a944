//! Copilot CLI's events. Events registered in PascalCase have Claude Code's fields and tool names; both spellings are accepted
//! here.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::new("sessionStart", Kind::SessionStart).takes_context(),
    Row::new("sessionEnd", Kind::SessionEnd),
    Row::new("userPromptSubmitted", Kind::Prompt).takes_context(),
    Row::new("userPromptSubmit", Kind::Prompt).takes_context(),
    Row::new("userPromptTransformed", Kind::Other),
    Row::new("preToolUse", Kind::ToolBefore).denied_by(Deny::Tool).asks().takes_context(),
    Row::new("postToolUse", Kind::ToolAfter).takes_context(),
    Row::new("postToolUseFailure", Kind::ToolFailed),
    // Without an answer, the agent shows its own prompt.
    Row::new("permissionRequest", Kind::PermissionRequest).denied_by(Deny::Request).asks(),
    Row::new("agentStop", Kind::TurnEnd).denied_by(Deny::Block),
    Row::new("stop", Kind::TurnEnd).denied_by(Deny::Block),
    Row::new("subagentStart", Kind::SubagentStart),
    Row::new("subagentStop", Kind::SubagentStop).denied_by(Deny::Block),
    Row::new("preCompact", Kind::CompactBefore),
    Row::new("notification", Kind::Notification),
    Row::new("errorOccurred", Kind::TurnFailed),
];

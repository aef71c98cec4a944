//! Codex's events: Claude Code's shapes, checked strictly, without a decision to ask.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::new("SessionStart", Kind::SessionStart).takes_context(),
    Row::new("SessionEnd", Kind::SessionEnd),
    Row::new("SubagentStart", Kind::SubagentStart).takes_context(),
    Row::new("SubagentStop", Kind::SubagentStop).denied_by(Deny::Block),
    Row::new("UserPromptSubmit", Kind::Prompt).denied_by(Deny::Block).takes_context(),
    Row::new("PreToolUse", Kind::ToolBefore).denied_by(Deny::Tool).takes_context(),
    // Without an answer, the agent shows its own prompt.
    Row::new("PermissionRequest", Kind::PermissionRequest).denied_by(Deny::Request).asks(),
    Row::new("PostToolUse", Kind::ToolAfter).denied_by(Deny::Block).takes_context(),
    Row::new("PreCompact", Kind::CompactBefore),
    Row::new("PostCompact", Kind::CompactAfter),
    Row::new("Stop", Kind::TurnEnd).denied_by(Deny::Block),
    Row::new("StopFailure", Kind::TurnFailed),
    Row::new("Interrupt", Kind::Other),
];

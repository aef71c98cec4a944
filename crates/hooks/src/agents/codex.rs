//! Codex's events: Claude Code's shapes, checked strictly, without a decision to ask.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::told("SessionStart", Kind::SessionStart).takes_context(),
    Row::told("SessionEnd", Kind::SessionEnd),
    Row::told("SubagentStart", Kind::SubagentStart).takes_context(),
    Row::told("SubagentStop", Kind::SubagentStop).denied_by(Deny::Block),
    Row::told("UserPromptSubmit", Kind::Prompt).denied_by(Deny::Block).takes_context(),
    Row::told("PreToolUse", Kind::ToolBefore).denied_by(Deny::Tool).takes_context(),
    // What asks here is the agent's own prompt, which comes by itself.
    Row::told("PermissionRequest", Kind::PermissionRequest).denied_by(Deny::Request).asks(),
    Row::told("PostToolUse", Kind::ToolAfter).denied_by(Deny::Block).takes_context(),
    Row::told("PreCompact", Kind::CompactBefore),
    Row::told("PostCompact", Kind::CompactAfter),
    Row::told("Stop", Kind::TurnEnd).denied_by(Deny::Block),
    Row::told("StopFailure", Kind::TurnFailed),
    Row::told("Interrupt", Kind::Other),
];

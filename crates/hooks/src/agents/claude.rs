//! Claude Code's events.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::new("SessionStart", Kind::SessionStart).takes_context(),
    Row::new("Setup", Kind::Other).takes_context(),
    Row::new("InstructionsLoaded", Kind::Other),
    Row::new("UserPromptSubmit", Kind::Prompt).denied_by(Deny::Block).takes_context(),
    Row::new("UserPromptExpansion", Kind::Other).denied_by(Deny::Block).takes_context(),
    Row::new("MessageDisplay", Kind::Other),
    Row::new("PreToolUse", Kind::ToolBefore).denied_by(Deny::Tool).asks().takes_context(),
    // Without an answer, the agent shows its own prompt.
    Row::new("PermissionRequest", Kind::PermissionRequest).denied_by(Deny::Request).asks(),
    Row::new("PermissionDenied", Kind::Other),
    Row::new("PostToolUse", Kind::ToolAfter).denied_by(Deny::Block).takes_context(),
    Row::new("PostToolUseFailure", Kind::ToolFailed).takes_context(),
    Row::new("PostToolBatch", Kind::Other).denied_by(Deny::Block).takes_context(),
    Row::new("Notification", Kind::Notification),
    Row::new("SubagentStart", Kind::SubagentStart).takes_context(),
    Row::new("SubagentStop", Kind::SubagentStop).denied_by(Deny::Block).takes_context(),
    Row::new("TaskCreated", Kind::Other).denied_by(Deny::Block),
    Row::new("TaskCompleted", Kind::Other).denied_by(Deny::Stop),
    Row::new("TeammateIdle", Kind::Other).denied_by(Deny::Stop),
    Row::new("Stop", Kind::TurnEnd).denied_by(Deny::Block).takes_context(),
    Row::new("StopFailure", Kind::TurnFailed),
    Row::new("ConfigChange", Kind::Other).denied_by(Deny::Block),
    Row::new("CwdChanged", Kind::Other),
    Row::new("DirectoryAdded", Kind::Other),
    Row::new("FileChanged", Kind::Other),
    Row::new("WorktreeCreate", Kind::Other).denied_by(Deny::Exit),
    Row::new("WorktreeRemove", Kind::Other),
    Row::new("PreCompact", Kind::CompactBefore).denied_by(Deny::Block),
    Row::new("PostCompact", Kind::CompactAfter),
    Row::new("PreModelSwitch", Kind::Other),
    Row::new("PostModelSwitch", Kind::Other),
    Row::new("Elicitation", Kind::Elicitation).denied_by(Deny::Decline),
    Row::new("ElicitationResult", Kind::Elicitation).denied_by(Deny::Decline),
    Row::new("SessionEnd", Kind::SessionEnd),
];

//! Claude Code's events.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::told("SessionStart", Kind::SessionStart).takes_context(),
    Row::told("Setup", Kind::Other).takes_context(),
    Row::told("InstructionsLoaded", Kind::Other),
    Row::told("UserPromptSubmit", Kind::Prompt).denied_by(Deny::Block).takes_context(),
    Row::told("UserPromptExpansion", Kind::Other).denied_by(Deny::Block).takes_context(),
    Row::told("MessageDisplay", Kind::Other),
    Row::told("PreToolUse", Kind::ToolBefore).denied_by(Deny::Tool).asks().takes_context(),
    // What asks here is the agent's own prompt, which comes by itself.
    Row::told("PermissionRequest", Kind::PermissionRequest).denied_by(Deny::Request).asks(),
    Row::told("PermissionDenied", Kind::Other),
    Row::told("PostToolUse", Kind::ToolAfter).denied_by(Deny::Block).takes_context(),
    Row::told("PostToolUseFailure", Kind::ToolFailed).takes_context(),
    Row::told("PostToolBatch", Kind::Other).denied_by(Deny::Block).takes_context(),
    Row::told("Notification", Kind::Notification),
    Row::told("SubagentStart", Kind::SubagentStart).takes_context(),
    Row::told("SubagentStop", Kind::SubagentStop).denied_by(Deny::Block).takes_context(),
    Row::told("TaskCreated", Kind::Other).denied_by(Deny::Block),
    Row::told("TaskCompleted", Kind::Other).denied_by(Deny::Stop),
    Row::told("TeammateIdle", Kind::Other).denied_by(Deny::Stop),
    Row::told("Stop", Kind::TurnEnd).denied_by(Deny::Block).takes_context(),
    Row::told("StopFailure", Kind::TurnFailed),
    Row::told("ConfigChange", Kind::Other).denied_by(Deny::Block),
    Row::told("CwdChanged", Kind::Other),
    Row::told("DirectoryAdded", Kind::Other),
    Row::told("FileChanged", Kind::Other),
    Row::told("WorktreeCreate", Kind::Other).denied_by(Deny::Exit),
    Row::told("WorktreeRemove", Kind::Other),
    Row::told("PreCompact", Kind::CompactBefore).denied_by(Deny::Block),
    Row::told("PostCompact", Kind::CompactAfter),
    Row::told("PreModelSwitch", Kind::Other),
    Row::told("PostModelSwitch", Kind::Other),
    Row::told("Elicitation", Kind::Elicitation).denied_by(Deny::Decline),
    Row::told("ElicitationResult", Kind::Elicitation).denied_by(Deny::Decline),
    Row::told("SessionEnd", Kind::SessionEnd),
];

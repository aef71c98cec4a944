//! Cursor's events. `preToolUse` covers every tool, and the events of one tool stand beside it.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::told("sessionStart", Kind::SessionStart).takes_context(),
    Row::told("sessionEnd", Kind::SessionEnd),
    Row::told("preToolUse", Kind::ToolBefore).denied_by(Deny::Tool),
    Row::told("postToolUse", Kind::ToolAfter).takes_context(),
    Row::told("postToolUseFailure", Kind::ToolFailed),
    Row::told("subagentStart", Kind::SubagentStart).denied_by(Deny::Tool),
    Row::told("subagentStop", Kind::SubagentStop).denied_by(Deny::Block),
    Row::told("beforeShellExecution", Kind::ToolBefore).denied_by(Deny::Tool).asks(),
    Row::told("afterShellExecution", Kind::ToolAfter),
    Row::told("beforeMCPExecution", Kind::ToolBefore).denied_by(Deny::Tool).asks(),
    Row::told("afterMCPExecution", Kind::ToolAfter),
    Row::told("beforeReadFile", Kind::ToolBefore).denied_by(Deny::Tool),
    Row::told("afterFileEdit", Kind::ToolAfter),
    Row::told("beforeSubmitPrompt", Kind::Prompt).denied_by(Deny::Stop),
    Row::told("preCompact", Kind::CompactBefore),
    Row::told("stop", Kind::TurnEnd).denied_by(Deny::Block),
    Row::told("afterAgentResponse", Kind::Other),
    Row::told("afterAgentThought", Kind::Other),
    Row::told("beforeTabFileRead", Kind::ToolBefore).denied_by(Deny::Tool),
    Row::told("afterTabFileEdit", Kind::ToolAfter),
];

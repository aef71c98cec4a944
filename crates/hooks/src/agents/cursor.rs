//! Cursor's events. `preToolUse` covers every tool; some tools have additional events.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::new("sessionStart", Kind::SessionStart).takes_context(),
    Row::new("sessionEnd", Kind::SessionEnd),
    Row::new("preToolUse", Kind::ToolBefore).denied_by(Deny::Tool),
    Row::new("postToolUse", Kind::ToolAfter).takes_context(),
    Row::new("postToolUseFailure", Kind::ToolFailed),
    Row::new("subagentStart", Kind::SubagentStart).denied_by(Deny::Tool),
    Row::new("subagentStop", Kind::SubagentStop).denied_by(Deny::Block),
    Row::new("beforeShellExecution", Kind::ToolBefore).denied_by(Deny::Tool).asks(),
    Row::new("afterShellExecution", Kind::ToolAfter),
    Row::new("beforeMCPExecution", Kind::ToolBefore).denied_by(Deny::Tool).asks(),
    Row::new("afterMCPExecution", Kind::ToolAfter),
    Row::new("beforeReadFile", Kind::ToolBefore).denied_by(Deny::Tool),
    Row::new("afterFileEdit", Kind::ToolAfter),
    Row::new("beforeSubmitPrompt", Kind::Prompt).denied_by(Deny::Stop),
    Row::new("preCompact", Kind::CompactBefore),
    Row::new("stop", Kind::TurnEnd).denied_by(Deny::Block),
    Row::new("afterAgentResponse", Kind::Other),
    Row::new("afterAgentThought", Kind::Other),
    Row::new("beforeTabFileRead", Kind::ToolBefore).denied_by(Deny::Tool),
    Row::new("afterTabFileEdit", Kind::ToolAfter),
];

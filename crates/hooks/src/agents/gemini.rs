//! Gemini CLI's events. A decision to ask hangs without a terminal, and an event does not say whether there is one: so none
//! asks.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::told("SessionStart", Kind::SessionStart).takes_context(),
    Row::told("SessionEnd", Kind::SessionEnd),
    Row::told("BeforeAgent", Kind::Prompt).denied_by(Deny::Block).takes_context(),
    Row::told("AfterAgent", Kind::TurnEnd).denied_by(Deny::Block),
    Row::told("BeforeModel", Kind::Other),
    Row::told("BeforeToolSelection", Kind::Other),
    Row::told("AfterModel", Kind::Other),
    Row::told("BeforeTool", Kind::ToolBefore).denied_by(Deny::Tool),
    Row::told("AfterTool", Kind::ToolAfter).denied_by(Deny::Block).takes_context(),
    Row::told("PreCompress", Kind::CompactBefore),
    Row::told("Notification", Kind::Notification),
];

//! Gemini CLI's events. A decision to ask hangs without a terminal, and an event does not report whether there is one.
//! Therefore no event asks.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::new("SessionStart", Kind::SessionStart).takes_context(),
    Row::new("SessionEnd", Kind::SessionEnd),
    Row::new("BeforeAgent", Kind::Prompt).denied_by(Deny::Block).takes_context(),
    Row::new("AfterAgent", Kind::TurnEnd).denied_by(Deny::Block),
    Row::new("BeforeModel", Kind::Other),
    Row::new("BeforeToolSelection", Kind::Other),
    Row::new("AfterModel", Kind::Other),
    Row::new("BeforeTool", Kind::ToolBefore).denied_by(Deny::Tool),
    Row::new("AfterTool", Kind::ToolAfter).denied_by(Deny::Block).takes_context(),
    Row::new("PreCompress", Kind::CompactBefore),
    Row::new("Notification", Kind::Notification),
];

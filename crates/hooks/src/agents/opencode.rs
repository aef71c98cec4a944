//! opencode's events, as hob's own plugin passes them on: an event that throws before a tool keeps it from running.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::told("session.created", Kind::SessionStart),
    Row::told("tool.execute.before", Kind::ToolBefore).denied_by(Deny::Tool),
    Row::told("tool.execute.after", Kind::ToolAfter).takes_context(),
    Row::told("session.idle", Kind::TurnEnd),
];

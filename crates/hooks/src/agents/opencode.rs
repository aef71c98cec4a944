//! opencode's events, as hob's plugin forwards them. An event before a tool prevents it by throwing an exception.

use super::{Deny, Row};
use crate::event::Kind;

pub(super) const ROWS: &[Row] = &[
    Row::new("session.created", Kind::SessionStart),
    Row::new("tool.execute.before", Kind::ToolBefore).denied_by(Deny::Tool),
    Row::new("tool.execute.after", Kind::ToolAfter).takes_context(),
    Row::new("session.idle", Kind::TurnEnd),
];

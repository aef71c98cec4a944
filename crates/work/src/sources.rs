//! Where each part of an answer comes from, and why one is missing, with the line that mends it.

use schemars::JsonSchema;
use serde::Serialize;

/// How a part of an answer was come by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    pub state: State,
    /// What was found instead, or what limits the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Whether a part is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ok,
    /// It may be older than what its tracker knows.
    Stale,
    /// There is nothing of it.
    Absent,
    /// The program that knows is missing.
    NotInstalled,
    /// It took too long.
    Timeout,
    Failed,
}

impl Source {
    pub(crate) fn ok() -> Source {
        Source { state: State::Ok, detail: None, next: None }
    }

    pub(crate) fn missing(state: State, detail: impl Into<String>, next: Option<&str>) -> Source {
        Source { state, detail: Some(detail.into()), next: next.map(str::to_owned) }
    }
}

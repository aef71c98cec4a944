//! Where each part of an answer comes from, and why one is missing, with the line that mends it.

use schemars::JsonSchema;
use serde::Serialize;

/// How a part of an answer was come by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    pub state: State,
    /// When it was asked for, in milliseconds since 1970, where the answer was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
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
    /// It was kept from before, or may be older than what its tracker knows.
    Stale,
    /// There is nothing of it.
    Absent,
    /// The program that knows is missing.
    NotInstalled,
    /// The program that knows is not logged in.
    NotLoggedIn,
    /// No network, or nobody answers there.
    Offline,
    /// Its host answers no more for a while.
    RateLimited,
    /// It took too long.
    Timeout,
    Failed,
}

impl Source {
    pub(crate) fn ok() -> Source {
        Source { state: State::Ok, as_of: None, detail: None, next: None }
    }

    pub(crate) fn missing(state: State, detail: impl Into<String>, next: Option<&str>) -> Source {
        Source { state, as_of: None, detail: Some(detail.into()), next: next.map(str::to_owned) }
    }

    /// The same, of what was asked for at that time.
    pub(crate) fn at(self, ms: u64) -> Source {
        Source { as_of: Some(ms), ..self }
    }
}

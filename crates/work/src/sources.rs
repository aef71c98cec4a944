//! The source of each part of an answer, or the reason why it is missing, with the fix.

use schemars::JsonSchema;
use serde::Serialize;

/// The source of a part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    pub state: State,
    /// When the answer was fetched, in milliseconds since 1970, if it was cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
    /// The reason why the part is missing or limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The availability of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ok,
    /// The answer is cached, or older than the tracker's database.
    Stale,
    /// There is nothing to report.
    Absent,
    /// The required program is not installed.
    NotInstalled,
    /// The required program is not logged in.
    NotLoggedIn,
    /// The host is unreachable.
    Offline,
    /// The host has reached its rate limit.
    RateLimited,
    /// The query timed out.
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

    /// Sets the time at which the answer was fetched.
    pub(crate) fn at(self, ms: u64) -> Source {
        Source { as_of: Some(ms), ..self }
    }
}

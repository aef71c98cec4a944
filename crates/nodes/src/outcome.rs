//! The outcome of a request to a model, and its tokens.

use serde::{Deserialize, Serialize};

/// The outcome class of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The value is valid.
    Done,
    /// No connection, a broken connection, or a timeout.
    Transport,
    /// The server asked for fewer requests or is overloaded.
    Busy,
    /// The server refused the request.
    Rejected,
    /// The answer was truncated at the token limit.
    Truncated,
    /// The prompt exceeds the model's context.
    TooLong,
    /// The answer was empty.
    Empty,
    /// The model refused to answer.
    Refused,
    /// The answer is not JSON.
    Unparseable,
    /// The answer is JSON and does not match the schema.
    Invalid,
    /// No model may be asked, and no recording exists.
    NotRecorded,
}

/// Token counts reported by the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    #[serde(rename = "in")]
    pub input: u64,
    #[serde(rename = "out")]
    pub output: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
}

impl Tokens {
    /// Returns the total without overflow. A server may report any number.
    pub(crate) fn sum(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

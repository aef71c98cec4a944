//! How an attempt at a model ended, and the tokens that it took.

use serde::{Deserialize, Serialize};

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// With a value that conforms.
    Done,
    /// No connection, a torn one, or no time left.
    Transport,
    /// The server wants fewer requests, or is overloaded.
    Busy,
    /// The server refused the request.
    Rejected,
    /// The answer was cut by the limit of tokens.
    Truncated,
    /// The prompt is longer than the model's context.
    TooLong,
    /// Nothing was said.
    Empty,
    /// The model refused.
    Refused,
    /// What was said is no JSON.
    Unparseable,
    /// JSON, and not what was asked for.
    Invalid,
    /// No model may be asked, and there is no recording.
    NotRecorded,
}

/// Tokens as the server counted them.
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
    /// Both together. A server may say any number.
    pub(crate) fn sum(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

//! The form of tool results, as a connection or the configuration asks for it.

use serde::{Deserialize, Serialize};

/// What tool results carry. Where nothing is said, it depends on the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Results {
    /// Text alone: all that a model needs, once.
    Text,
    /// Text and structured content (MCP "Structured Content").
    Both,
}

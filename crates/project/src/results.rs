//! The form of tool results, as requested by a connection or the configuration.

use serde::{Deserialize, Serialize};

/// The content of tool results. By default it depends on the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Results {
    /// Text only: everything that a model needs, once.
    Text,
    /// Text and structured content (MCP "Structured Content").
    Both,
}

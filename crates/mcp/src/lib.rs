//! MCP.
#[cfg(feature = "server")]
pub mod tool;
pub mod wire;

//! The front-end: `hob mcp`, the MCP server that an agent starts.

use std::io;

use project::{Hello, Project};

use crate::Launch;

/// Serves an agent on standard input and output until the input ends.
pub fn run(
    _locate: impl FnMut() -> Result<(Project, Hello), String> + Send + 'static,
    _launch: Launch,
) -> io::Result<()> {
    Ok(())
}

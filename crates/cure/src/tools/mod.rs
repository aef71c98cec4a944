//! The tools of the toolset and profile `cure`, one file each. Here: the list of them, and what they share.

mod analyze_fsm;
mod format_cure;
mod get_ast;
mod get_examples;
mod get_stdlib_docs;
mod get_syntax_help;
mod parse_cure;
#[cfg(test)]
mod tests;
mod type_check_cure;
mod validate_syntax;

use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::{AnyTool, Context, ToolError, tool};
use project::Caller;

use crate::files::Directory;

/// All tools of the toolset.
pub fn tools() -> Vec<Arc<dyn AnyTool>> {
    vec![
        tool(analyze_fsm::AnalyzeFsm),
        tool(format_cure::FormatCure),
        tool(get_ast::GetAst),
        tool(get_examples::GetExamples),
        tool(get_stdlib_docs::GetStdlibDocs),
        tool(get_syntax_help::GetSyntaxHelp),
        tool(parse_cure::ParseCure),
        tool(type_check_cure::TypeCheckCure),
        tool(validate_syntax::ValidateSyntax),
    ]
}

/// The text that is small enough to be worked on where the call was read.
const SMALL: usize = 16 << 10;

/// Does work that may take a while on a thread of its own, unless there is little of it.
async fn work<T: Send + 'static>(size: usize, job: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    if size <= SMALL {
        return Ok(job());
    }
    tokio::task::spawn_blocking(job).await.map_err(ToolError::internal)
}

/// The worktree of the caller: where modules are found and files are read and written.
fn root(cx: &Context) -> Option<PathBuf> {
    cx.caller::<Caller>().map(|caller| caller.worktree.clone())
}

/// The modules that the caller's code may use.
fn sources(cx: &Context) -> Directory {
    Directory::new(root(cx))
}

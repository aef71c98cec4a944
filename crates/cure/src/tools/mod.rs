//! The tools of the toolset and profile `cure`, one file each. This file contains their list and shared code.

mod analyze_fsm;
mod check_project;
mod compile_cure;
mod format_cure;
mod generate_tests;
mod get_ast;
mod get_examples;
mod get_stdlib_docs;
mod get_syntax_help;
mod parse_cure;
mod run_cure;
#[cfg(test)]
mod tests;
mod type_check_cure;
mod validate_syntax;

pub(crate) use get_examples::EXAMPLES;
pub(crate) use get_stdlib_docs::library;
pub(crate) use get_syntax_help::TOPICS;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp::tool::{AnyTool, Context, ToolError, tool};
use project::Caller;

use crate::answer::Room;
use crate::diagnostic::Diagnostic;
use crate::files::{self, FileError};
use crate::part::{Cure, Modules};

/// All tools of the toolset.
pub fn tools(cure: &Arc<Cure>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        tool(analyze_fsm::AnalyzeFsm(cure.clone())),
        tool(check_project::CheckProject(cure.clone())),
        tool(compile_cure::CompileCure(cure.clone())),
        tool(format_cure::FormatCure),
        tool(generate_tests::GenerateTests(cure.clone())),
        tool(get_ast::GetAst),
        tool(get_examples::GetExamples),
        tool(get_stdlib_docs::GetStdlibDocs),
        tool(get_syntax_help::GetSyntaxHelp),
        tool(parse_cure::ParseCure),
        tool(run_cure::RunCure(cure.clone())),
        tool(type_check_cure::TypeCheckCure(cure.clone())),
        tool(validate_syntax::ValidateSyntax),
    ]
}

/// Maximum size, in bytes, of a text that is processed right where the call was read.
const SMALL: usize = 16 << 10;

/// Runs the job on a blocking thread, unless the text is small.
async fn work<T: Send + 'static>(size: usize, job: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    if size <= SMALL {
        return Ok(job());
    }
    tokio::task::spawn_blocking(job).await.map_err(ToolError::internal)
}

/// The caller's worktree, where modules are found and files are read and written.
fn worktree(cx: &Context) -> Result<PathBuf, ToolError> {
    let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("the connection has no caller"))?;
    Ok(caller.worktree.clone())
}

/// The modules that the caller's code may use.
fn modules(cure: &Cure, cx: &Context) -> Modules {
    cure.modules(cx.caller::<Caller>().map(|caller| &*caller.worktree))
}

/// The diagnostics of a text, and the text itself.
pub(crate) async fn checked(cure: &Cure, cx: &Context, code: String) -> Result<(Vec<Diagnostic>, String), ToolError> {
    let modules = modules(cure, cx);
    work(code.len(), move || (crate::compile(&code, &modules).diagnostics, code)).await
}

/// The error about a file that cannot be used, with the next step.
fn file_error(error: FileError) -> ToolError {
    let hint = match &error {
        FileError::Read { .. } | FileError::Outside { .. } => {
            "Give the path of a file inside the project, relative to its root."
        }
        FileError::NoFile { .. } => "Give the path of a file.",
        FileError::Write { .. } => "Nothing was changed.",
        FileError::TooLarge { .. } => "Split it into modules.",
        FileError::NotText { .. } => "Save it as UTF-8.",
    };
    ToolError::user(format!("{error}.")).hint(hint)
}

/// The target of a caller's path. It must lie inside the worktree.
fn resolve_path(worktree: &Path, path: &Path) -> Result<PathBuf, ToolError> {
    files::resolve_inside(worktree, path).map_err(file_error)
}

/// The text of `code`, or the text and the path of the file `file_path`.
fn load(cx: &Context, code: Option<String>, file_path: Option<&Path>) -> Result<(String, Option<PathBuf>), ToolError> {
    match (code, file_path) {
        (Some(code), None) => Ok((code, None)),
        (None, Some(path)) => {
            let path = resolve_path(&worktree(cx)?, path)?;
            Ok((files::read(&path).map_err(file_error)?, Some(path)))
        }
        _ => Err(ToolError::user("Give either `code` or `file_path`.").hint("`code` is the text itself.")),
    }
}

/// The functions that a program defines, for the hint of an error.
fn defined(signatures: Vec<String>) -> String {
    let all = signatures.len();
    if all == 0 {
        return "It defines no functions.".to_owned();
    }
    let mut room = Room::new();
    let told = room.first(signatures.into_iter().take(30).collect());
    let more = if told.len() < all {
        format!("\n… and {} more; parse_cure lists them", all - told.len())
    } else {
        String::new()
    };
    format!("It defines:\n{}{more}", told.join("\n"))
}

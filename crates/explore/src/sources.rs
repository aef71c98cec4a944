//! The facts and means that a walk gets from the other parts.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use code::tools::Questions;
use mcp::tool::{Context, ToolError};
use project::Caller;

use crate::prove::Compiling;
use crate::select::records::Recorder;
use crate::select::{BuiltIn, Choice, ModelNodes, Selector};

/// Lines of a file: the path relative to the root, the first and the last line.
pub type LineRange = (PathBuf, usize, usize);

/// What a diff changed.
#[derive(Debug, Default)]
pub struct Diff {
    /// In the new state.
    pub lines: Vec<LineRange>,
    /// The names of definitions that are removed or renamed.
    pub removed: Vec<String>,
}

/// A diff, or the reason why it is unknown.
pub type DiffFuture<'a> = Pin<Box<dyn Future<Output = Result<Diff, String>> + Send + 'a>>;

/// The facts that the tools need.
#[expect(clippy::type_complexity, reason = "each field is the signature of one function")]
pub struct Sources {
    /// Returns the shared state of the tools for code; `None` if the tools are only declared.
    pub code: Box<dyn Fn() -> Option<Arc<Questions>> + Send + Sync>,
    /// Returns what `working`, `staged` or `BASE..HEAD` changed in a worktree.
    pub diff: Box<dyn for<'a> Fn(&'a Caller, &'a str) -> DiffFuture<'a> + Send + Sync>,
    /// `None` if the tools are only declared.
    pub compiling: Option<Compiling>,
    /// Finds a node with its model.
    pub model: ModelNodes,
    /// The maximum number of tokens of a model in one walk.
    pub tokens: u64,
    /// The directory of recorded decisions.
    pub records: PathBuf,
}

impl Sources {
    pub(crate) fn questions(&self) -> Result<Arc<Questions>, ToolError> {
        (self.code)().ok_or_else(|| ToolError::internal("the tools for code are not available"))
    }

    /// Returns the selector of a walk, with its limit of calls of a model, and its recorder.
    pub(crate) async fn selector(
        &self,
        cx: &Context,
        node: BuiltIn,
        (choice, record): (Choice, bool),
        calls: usize,
    ) -> Result<Selector, ToolError> {
        let recorder =
            Recorder::new_if_asked(node.tool, &self.records, caller(cx)?, record).map_err(ToolError::user)?;
        let mut selector = Selector::new(&self.model, cx, choice, node, (calls, self.tokens)).await?;
        selector.recorder = recorder;
        Ok(selector)
    }
}

/// Returns who called.
pub(crate) fn caller(cx: &Context) -> Result<&Caller, ToolError> {
    cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))
}

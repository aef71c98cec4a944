//! The tools, one file each.

mod scout;
mod teach_graph;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use code::tools::Questions;
use mcp::tool::{AnyTool, Context, ToolError, tool};
use project::Caller;
use schemars::JsonSchema;
use serde::Deserialize;

pub use crate::prove::Compiling;
pub use crate::scout::LineRange;
use crate::select::records::Recorder;
use crate::select::{BuiltIn, Choice, Limits, Selector};
pub use crate::select::{ModelAnswer, ModelFuture, ModelNode, ModelNodes};

/// The lines that a diff changed, or the reason why they are unknown.
pub type DiffFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<LineRange>, String>> + Send + 'a>>;

/// The facts that the tools need.
#[expect(clippy::type_complexity, reason = "each field is the signature of one function")]
pub struct Sources {
    /// Returns the shared state of the tools for code; `None` if the tools are only declared.
    pub code: Box<dyn Fn() -> Option<Arc<Questions>> + Send + Sync>,
    /// Returns the lines that `working`, `staged` or `BASE..HEAD` changed in a worktree.
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

/// Returns all tools of the toolset.
pub fn tools(sources: &Arc<Sources>) -> Vec<Arc<dyn AnyTool>> {
    vec![tool(teach_graph::TeachGraph::<false>(sources.clone())), tool(scout::Scout::<false>(sources.clone()))]
}

/// Returns the replacements for tools of Tidepool's control server. Their text is JSON.
pub fn tidepool(sources: &Arc<Sources>) -> Vec<Arc<dyn AnyTool>> {
    vec![tool(teach_graph::TeachGraph::<true>(sources.clone())), tool(scout::Scout::<true>(sources.clone()))]
}

fn available(sources: &Sources) -> Result<Arc<Questions>, ToolError> {
    (sources.code)().ok_or_else(|| ToolError::internal("the tools for code are not available"))
}

/// Finds who decides in a walk, and whether that is recorded.
async fn selector(
    sources: &Sources,
    cx: &Context,
    (tool, node): (&'static str, BuiltIn),
    (choice, record): (Choice, bool),
    calls: usize,
) -> Result<Selector, ToolError> {
    let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
    let recorder = Recorder::new_if_asked(tool, &sources.records, caller, record).map_err(ToolError::user)?;
    let limits = Limits { calls, tokens: sources.tokens };
    let mut selector = Selector::new(&sources.model, cx, choice, node, limits).await?;
    selector.recorder = recorder;
    Ok(selector)
}

/// Names as a list, or as a text with commas.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Names {
    #[default]
    None,
    List(Vec<String>),
    Text(String),
}

impl Names {
    /// Returns the names without blanks and empty parts.
    fn into_list(self) -> Vec<String> {
        let all = match self {
            Names::None => Vec::new(),
            Names::List(all) => all,
            Names::Text(text) => text.split(',').map(str::to_owned).collect(),
        };
        all.into_iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    }
}

/// The maximum number of names in a question.
const MOST_NAMES: usize = 20;

fn check_count(names: &[String], argument: &str) -> Result<(), ToolError> {
    match names.len() {
        0..=MOST_NAMES => Ok(()),
        count => Err(ToolError::user(format!("`{argument}` has {count} names; the limit is {MOST_NAMES}"))),
    }
}

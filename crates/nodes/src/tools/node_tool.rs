//! A node as a separate tool: its name, its description and both schemas come from its file.

use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::{AnyTool, BoxFuture, Context, Declaration, Effect, Outcome, ToolError, wrong_arguments};
use project::Caller;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::node_run::JOB_AFTER;
use super::{Nodes, call_result};
use crate::{Models, Node};

struct NodeTool {
    declaration: Declaration,
    node: Arc<Node>,
    nodes: Arc<Nodes>,
    worktree: PathBuf,
}

/// Creates the tool of a node of that worktree. `file` is the displayed path of its file.
pub(super) fn node_tool(nodes: &Arc<Nodes>, node: &Arc<Node>, worktree: PathBuf, file: &str) -> Arc<dyn AnyTool> {
    let declaration = declaration(node, &format!(" ({file}; {})", answered_by(&nodes.models, node)));
    Arc::new(NodeTool { declaration, node: node.clone(), nodes: nodes.clone(), worktree })
}

/// Returns the tool declaration of a node.
pub(super) fn declaration(node: &Node, origin: &str) -> Declaration {
    let description = format!("{}{origin}", node.description);
    Declaration {
        output_schema: Some(call_result::output_schema(node.output.json.clone())),
        job_after: Some(JOB_AFTER),
        ..Declaration::new(&node.name, description, node.input.json.clone(), Effect::READ.open_world())
    }
}

/// Describes the answerer and its cost: nothing (local), money (paid), or the caller's own tokens (delegate).
pub(super) fn answered_by(models: &Models, node: &Node) -> String {
    if models.delegates(node) {
        return "answered by you: delegate".to_owned();
    }
    match models.for_node(node) {
        Ok(models) => {
            let named = models
                .iter()
                .map(|model| format!("{}, {}", model.alias, if model.is_local { "on this machine" } else { "paid" }));
            format!("model {}", named.collect::<Vec<_>>().join("; then "))
        }
        Err(_) => "no model".to_owned(),
    }
}

impl AnyTool for NodeTool {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>> {
        let input = serde_json::from_str::<Map<String, Value>>(arguments.map_or("{}", RawValue::get));
        Box::pin(async move {
            let input = match input {
                Ok(input) => input,
                Err(error) => return Ok(wrong_arguments(&self.declaration, &unread(&error))),
            };
            // Over HTTP, all worktrees share one tool listing.
            if cx.caller::<Caller>().is_some_and(|caller| caller.worktree != self.worktree) {
                return Ok(Outcome::error(format!(
                    "This tool is a node of another worktree; call node_run with `node` {:?} for that of yours.",
                    self.node.name
                )));
            }
            call_result::call(&self.nodes, &cx, self.node.clone(), input, false).await
        })
    }
}

/// Explains why arguments cannot be parsed.
fn unread(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let is_deep = said.split(" at line ").next().filter(|said| said.starts_with("recursion"));
    is_deep.unwrap_or("the arguments must be an object").to_owned()
}

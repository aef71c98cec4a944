//! `node_run`: runs a node of the caller's worktree and returns its checked value.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{
    AnyTool, BoxFuture, Context, Declaration, Effect, Example, Outcome, ToolError, input_schema, wrong_arguments,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Nodes, call_result};
use crate::settings::DELEGATE;

/// The time after which a call becomes a job.
pub(super) const JOB_AFTER: Duration = Duration::from_secs(45);

/// Runs a node (a prompt file with a typed input and output) on its model and returns the checked value. nodes_status lists the nodes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Name of the node.
    node: String,
    /// Input of the node, an object that matches its input schema.
    #[serde(default)]
    input: Map<String, Value>,
    /// Alias of the model to use (default: the node's own model).
    model: Option<String>,
    /// True to ask the model even if the value is cached (default false).
    #[serde(default)]
    fresh: bool,
}

pub(super) const NAME: &str = "node_run";

struct NodeRun {
    declaration: Declaration,
    nodes: Arc<Nodes>,
}

/// Creates the tool. It is written by hand because its structured content has two forms.
pub(super) fn node_run(nodes: &Arc<Nodes>) -> Arc<dyn AnyTool> {
    let (description, schema) = input_schema::<Args>();
    let value = json!({"description": "The value, of the node's output type."});
    let arguments = json!({"node": "summarize", "input": {"text": "It rained all day."}});
    let declaration = Declaration {
        title: Some("Run a node".to_owned()),
        output_schema: Some(call_result::output_schema(value)),
        job_after: Some(JOB_AFTER),
        examples: vec![Example { title: "A node with one input", arguments, text: None }],
        ..Declaration::new(NAME, description, schema, Effect::READ.open_world())
    };
    Arc::new(NodeRun { declaration, nodes: nodes.clone() })
}

impl AnyTool for NodeRun {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>> {
        let args = serde_json::from_str::<Args>(arguments.map_or("{}", RawValue::get)).map_err(|error| {
            let said = error.to_string();
            wrong_arguments(&self.declaration, said.split(" at line ").next().unwrap_or(&said))
        });
        Box::pin(async move {
            let Args { node, input, model, fresh } = match args {
                Ok(args) => args,
                Err(wrong) => return Ok(wrong),
            };
            let node = self.nodes.node(&cx, node).await?;
            match model {
                None => call_result::call(&self.nodes, &cx, node, input, fresh).await,
                Some(model) => {
                    let alias = model.clone();
                    // The file is checked again, with all examples.
                    let node = tokio::task::spawn_blocking(move || node.on_model(&alias));
                    let node = Arc::new(node.await.map_err(ToolError::internal)?.map_err(ToolError::internal)?);
                    // A named model takes precedence over delegation.
                    if model != DELEGATE && self.nodes.delegates(&node) {
                        self.nodes.models.for_node(&node).map_err(ToolError::user)?;
                    }
                    call_result::call(&self.nodes, &cx, node, input, fresh).await
                }
            }
        })
    }
}

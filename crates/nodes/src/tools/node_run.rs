//! `node_run`: runs a node of the caller's worktree and gives its checked value.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Nodes;
use crate::run::{FailureKind, Ledger};

/// Runs a node, a prompt file with a typed input and output, on its model; gives the checked value. nodes_status lists them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The node's name.
    node: String,
    /// Its input.
    #[serde(default)]
    input: Map<String, Value>,
}

/// A model's answer that conforms to the node's output.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Of the type that the node states.
    value: Value,
    #[serde(skip)]
    ledger: Ledger,
}

pub(super) struct NodeRun(pub Arc<Nodes>);

impl Tool for NodeRun {
    const NAME: &'static str = "node_run";
    const TITLE: &'static str = "Run a node";
    const EFFECT: Effect = Effect::READ.open_world();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let folder = self.0.folder(&cx)?;
        let name = args.node;
        let node = tokio::task::spawn_blocking(move || folder.node(&name)).await.map_err(ToolError::internal)?;
        let node = node.map_err(|error| ToolError::user(error.to_string()))?;
        match crate::run(&node, args.input, &self.0.models).await {
            Ok(done) => Ok(Output { value: done.value, ledger: done.ledger }),
            Err(failure) => {
                let spent = match failure.ledger.attempts.len() {
                    0 => String::new(),
                    attempts => format!(" (attempts: {attempts}, tokens: {})", failure.ledger.tokens()),
                };
                let error = ToolError::user(format!("{}{spent}", failure.why));
                Err(match failure.kind {
                    FailureKind::Input => error.hint(format!("The node's input: {}", node.input.json)),
                    _ => error,
                })
            }
        }
    }

    fn text(output: &Output) -> String {
        format!("A model's answer: {}", output.value)
    }

    fn result_meta(output: &Output) -> Option<Map<String, Value>> {
        Some(output.ledger.meta())
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"node": "summarize", "input": {"text": "It rained all day."}});
        vec![Example { title: "A node with one input", arguments, text: None }]
    }
}

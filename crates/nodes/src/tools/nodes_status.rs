//! `nodes_status`: the nodes of the caller's worktree, what each takes and gives, and what is wrong with the others.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Nodes;
use crate::Models;
use crate::folder::{Folder, FolderError};

/// The nodes of your worktree, with their inputs and outputs; of invalid ones, the errors and their lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Only this node.
    node: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    nodes: Vec<Status>,
}

/// One node file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Status {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
    /// JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    /// The models that it would run on, in order.
    models: Vec<String>,
    /// Why it cannot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// What could be better.
    notes: Vec<String>,
    /// Of this version of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

pub(super) struct NodesStatus(pub Arc<Nodes>);

impl Tool for NodesStatus {
    const NAME: &'static str = "nodes_status";
    const TITLE: &'static str = "The nodes here";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (folder, nodes) = (self.0.folder(&cx)?, self.0.clone());
        let looked = tokio::task::spawn_blocking(move || look(&folder, &nodes.models, args.node.as_deref()));
        let nodes = looked.await.map_err(ToolError::internal)?;
        Ok(Output { nodes: nodes.map_err(|error| ToolError::user(error.to_string()))? })
    }

    fn text(output: &Output) -> String {
        let lines: Vec<String> = output.nodes.iter().map(line).collect();
        if lines.is_empty() {
            "No node files here; `hob node new NAME` writes one.".to_owned()
        } else {
            lines.join("\n")
        }
    }
}

fn look(folder: &Folder, models: &Models, only: Option<&str>) -> Result<Vec<Status>, FolderError> {
    let found = match only {
        Some(name) => match folder.node(name) {
            Err(error @ FolderError::Unknown { .. }) => return Err(error),
            node => vec![(name.to_owned(), node)],
        },
        None => folder.all()?.into_iter().collect(),
    };
    let status = |(name, node): (String, Result<crate::Node, FolderError>)| match node {
        Err(error) => Status {
            name,
            description: None,
            input: None,
            output: None,
            models: Vec::new(),
            error: Some(error.to_string()),
            notes: Vec::new(),
            hash: None,
        },
        Ok(node) => {
            let (found, error) = match models.for_node(&node) {
                Ok(found) => (found, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            let place = |alias: &str, is_local: bool| {
                format!("{alias}{}", if is_local { "" } else { " (not on this machine)" })
            };
            Status {
                name,
                description: Some(node.description),
                input: Some(node.input.json),
                output: Some(node.output.json),
                models: found.iter().map(|model| place(&model.alias, model.is_local)).collect(),
                error,
                notes: node.lints.iter().map(|lint| format!("line {lint}")).collect(),
                hash: Some(node.hash),
            }
        }
    };
    Ok(found.into_iter().map(status).collect())
}

fn line(node: &Status) -> String {
    let mut text = format!("{}: ", project::visible(&node.name));
    if let (Some(description), Some(input), Some(output)) = (&node.description, &node.input, &node.output) {
        text.push_str(&format!("{}\n  input {input}\n  output {output}", project::visible(description)));
    }
    if !node.models.is_empty() {
        text.push_str(&format!("\n  model {}", node.models.join(", then ")));
    }
    if let Some(error) = &node.error {
        text.push_str(&format!("\n  cannot run: {error}"));
    }
    node.notes.iter().for_each(|note| text.push_str(&format!("\n  note: {note}")));
    text
}

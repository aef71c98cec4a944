//! `nodes_status`: the nodes of the caller's worktree with their inputs, outputs and errors.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Nodes;
use super::node_tool::answered_by;
use crate::Models;
use crate::registry::{Entry, Served, State};

/// Lists the nodes of your worktree with their inputs and outputs. Invalid nodes have their errors with lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Name of a single node (default: all nodes).
    node: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    nodes: Vec<Status>,
    /// Tokens that were sent off this machine today. The limit is tokens_per_day.
    left_today: u64,
    tokens_per_day: u64,
    /// Settings of `hob.toml` that are ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<String>,
    /// Entries that look like node files and are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    passed_over: Vec<String>,
    /// Reason why the directory of node files cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// One node file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Status {
    name: String,
    state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
    /// JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    /// The model or caller that answers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answered_by: Option<String>,
    /// Reason why the node cannot run, or the error of the changed file while its previous version remains available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Suggestions for improvement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Hash of the available version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

/// The maximum length of a schema in a list, in bytes.
const SHOWN_MAX: usize = 2_000;
/// The time limit of a call for files that are still being checked.
const LOADED_WITHIN: Duration = Duration::from_secs(10);

pub(super) struct NodesStatus(pub Arc<Nodes>);

impl Tool for NodesStatus {
    const NAME: &'static str = "nodes_status";
    const TITLE: &'static str = "The nodes here";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let worktree = Nodes::worktree(&cx)?;
        let folder = self.0.folder_of(&worktree);
        let mut is_complete = true;
        let served = match self.0.followed(&worktree) {
            Some(followed) => {
                is_complete = followed.loaded(LOADED_WITHIN).await;
                followed.served()
            }
            // The files are not watched: they are read now.
            None => {
                let (folder, nothing) = (folder.clone(), Served::default());
                let read = tokio::task::spawn_blocking(move || Served::read(&folder, &nothing, |_| ()).0);
                let mut served = read.await.map_err(ToolError::internal)?;
                let last_good = self.0.last_good.lock();
                for (name, entry) in served.entries.iter_mut().filter(|(_, entry)| entry.node.is_none()) {
                    entry.node = last_good.get(&(worktree.clone(), name.clone())).cloned();
                }
                Arc::new(served)
            }
        };
        if let Some(name) = args.node.as_ref().filter(|name| !served.entries.contains_key(*name)) {
            return Err(ToolError::user(served.unknown(&folder, name)));
        }
        let wanted = served.entries.iter().filter(|(name, _)| args.node.as_ref().is_none_or(|node| node == *name));
        let listed: BTreeSet<&str> = self.0.listed(&served).map(|node| node.name.as_str()).collect();
        let nodes = wanted.map(|(name, entry)| {
            let is_listed = listed.contains(name.as_str());
            Status { notes: notes(entry, is_listed), ..status(name, entry, &self.0.models) }
        });
        let nodes = nodes.collect();
        let (left_today, tokens_per_day) = (self.0.usage.spent_today(), self.0.usage.per_day());
        let ignored = self.0.models.ignored().to_vec();
        // A request for one node does not list others.
        let passed_over = served.passed_over.iter().filter(|_| args.node.is_none());
        let unchecked = (!is_complete).then(|| "Some node files are still being checked. Call again.".to_owned());
        let passed_over = passed_over.map(|passed_over| passed_over.why.clone()).chain(unchecked).collect();
        Ok(Output { nodes, left_today, tokens_per_day, ignored, passed_over, error: served.error.clone() })
    }

    fn text(output: &Output) -> String {
        let usage =
            format!("{} of {} tokens were sent off this machine today", output.left_today, output.tokens_per_day);
        let usage = (output.left_today > 0).then_some(usage);
        let lines: Vec<String> = output
            .error
            .iter()
            .chain(&output.ignored)
            .chain(&output.passed_over)
            .cloned()
            .chain(output.nodes.iter().map(|node| line(node, output.nodes.len() > 1)))
            .chain(usage)
            .collect();
        if lines.is_empty() {
            "No node files here; `hob node new NAME` writes one.".to_owned()
        } else {
            lines.join("\n")
        }
    }
}

fn status(name: &str, entry: &Entry, models: &Models) -> Status {
    let node = entry.node.as_deref();
    let cannot_run = node.filter(|node| !models.delegates(node)).and_then(|node| models.for_node(node).err());
    Status {
        name: name.to_owned(),
        state: entry.state(),
        description: node.map(|node| node.description.clone()),
        input: node.map(|node| node.input.json.clone()),
        output: node.map(|node| node.output.json.clone()),
        answered_by: node.map(|node| answered_by(models, node)),
        error: entry.error.clone().or(cannot_run),
        notes: Vec::new(),
        hash: node.map(|node| node.hash.clone()),
    }
}

fn notes(entry: &Entry, is_listed: bool) -> Vec<String> {
    let node = entry.node.as_deref();
    let lints = node.into_iter().flat_map(|node| &node.lints).map(|lint| format!("line {lint}"));
    let unlisted = node.filter(|node| node.policy.tool && !is_listed);
    let unlisted = unlisted.map(|_| {
        "call it with node_run: it exceeds the limits of nodes that are listed as tools (nodes.listed in number, 64 \
         KiB in all, 16 KiB each)"
            .to_owned()
    });
    lints.chain(unlisted).collect()
}

/// Formats a node. `is_one` is true in a list of several nodes; long schemas are left out then.
fn line(node: &Status, is_one: bool) -> String {
    let mut text = format!("{}: ", project::visible(&node.name));
    if let (Some(description), Some(input), Some(output)) = (&node.description, &node.input, &node.output) {
        let shown = |text: String| {
            if is_one && text.len() > SHOWN_MAX {
                format!("of {} bytes; nodes_status with `node` shows it", text.len())
            } else {
                text
            }
        };
        let described = shown(project::visible(description));
        let (input, output) = (shown(input.to_string()), shown(output.to_string()));
        text.push_str(&format!("{described}\n  input {input}\n  output {output}"));
    }
    if let Some(answered_by) = &node.answered_by {
        text.push_str(&format!("\n  {answered_by}"));
    }
    if let Some(error) = &node.error {
        let what = match node.state {
            State::LastGood => "the version before the last change is served, because",
            State::Serving | State::Invalid => "cannot run:",
        };
        text.push_str(&format!("\n  {what} {error}"));
    }
    node.notes.iter().for_each(|note| text.push_str(&format!("\n  note: {note}")));
    text
}

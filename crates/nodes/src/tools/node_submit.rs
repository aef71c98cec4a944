//! `node_submit`: takes the value of a call that a node left to its caller.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Nodes;
use crate::Record;
use crate::delegate::Submitted;
use crate::run::META;

/// Gives the value of a node that you answered yourself. It is checked: you get it back, or what is wrong with it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// As the node gave it.
    ticket: String,
    /// Your answer, JSON of the schema that the node gave.
    value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Status {
    Accepted,
    Rejected,
    Expired,
    Unknown,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Output {
    status: Option<Status>,
    /// The accepted value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// What is wrong with the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempts_left: Option<u32>,
    /// What to do now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip)]
    node_hash: Option<String>,
}

pub(super) struct NodeSubmit(pub Arc<Nodes>);

impl Tool for NodeSubmit {
    const NAME: &'static str = "node_submit";
    const TITLE: &'static str = "Answer a node";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    const REPEAT: Repeat = Repeat::Keyed {
        argument: "ticket",
        advice: "Call node_submit again with the same ticket and value: it counts once.",
        keyed_advice: "Call node_submit again with the same ticket and value: it counts once.",
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (nodes, principal) = (self.0.clone(), cx.principal());
        let submitted =
            tokio::task::spawn_blocking(move || nodes.delegation.submit(&args.ticket, args.value, &principal));
        let submitted = submitted.await.map_err(ToolError::internal)?.map_err(|error| {
            ToolError::user(format!("the answer could not be kept: {error}"))
                .hint("Free some space, and call node_submit again with the same ticket and value.")
        })?;
        let (status, node) = match &submitted {
            Submitted::Accepted { node, .. } => ("accepted", Some(node.clone())),
            Submitted::Rejected { node, .. } | Submitted::Spent { node } => ("rejected", Some(node.clone())),
            Submitted::Expired => ("expired", None),
            Submitted::Unknown => ("unknown", None),
        };
        self.0.record(Record::NodeSubmitted { status, node });
        Ok(output(submitted))
    }

    fn text(output: &Output) -> String {
        let next = output.next.as_deref().unwrap_or_default();
        match (output.status, &output.value) {
            (Some(Status::Accepted), Some(value)) => {
                format!("Accepted: {value}{}{next}", if next.is_empty() { "" } else { "\n" })
            }
            (Some(Status::Rejected), _) if output.problems.is_empty() => format!("Rejected: {next}"),
            (Some(Status::Rejected), _) => {
                let problems: Vec<String> = output.problems.iter().map(|problem| format!("- {problem}")).collect();
                format!("Rejected:\n{}\n{next}", problems.join("\n"))
            }
            _ => next.to_owned(),
        }
    }

    fn result_meta(output: &Output) -> Option<Map<String, Value>> {
        let attempt = json!({"via": "delegate", "class": "done", "tokens": null});
        let total = json!({"tokens": 0, "complete": false});
        let ledger = json!({"node_hash": output.node_hash.as_ref()?, "attempts": [attempt], "total": total});
        Some(Map::from_iter([(META.to_owned(), ledger)]))
    }
}

fn output(submitted: Submitted) -> Output {
    let said = |status, next: String| Output { status: Some(status), next: Some(next), ..Output::default() };
    match submitted {
        Submitted::Accepted { value, node_hash, was_answered, .. } => {
            let next = was_answered.then(|| "The ticket was answered before, and that value stays.".to_owned());
            let status = Some(Status::Accepted);
            Output { status, value: Some(value), next, node_hash: Some(node_hash), ..Output::default() }
        }
        Submitted::Rejected { node, problems, attempts_left, is_repeated } => {
            let same = if is_repeated { "It is the same value as before, and counts once. " } else { "" };
            let next = match attempts_left {
                0 => format!("That was the last attempt; call {node} again for a new ticket."),
                1 => "Correct it and call node_submit again with the same ticket; one attempt is left.".to_owned(),
                left => {
                    format!("Correct it and call node_submit again with the same ticket; {left} attempts are left.")
                }
            };
            let next = format!("{same}{next}");
            Output { problems, attempts_left: Some(attempts_left), ..said(Status::Rejected, next) }
        }
        Submitted::Spent { node } => {
            let next =
                format!("No attempts are left, so this value was not looked at; call {node} again for a new ticket.");
            Output { attempts_left: Some(0), ..said(Status::Rejected, next) }
        }
        Submitted::Expired => {
            said(Status::Expired, "The ticket is older than an hour: call the node again for a new one.".to_owned())
        }
        Submitted::Unknown => said(
            Status::Unknown,
            "This is no ticket that a node gave you: copy it whole, or call the node again for a new one.".to_owned(),
        ),
    }
}

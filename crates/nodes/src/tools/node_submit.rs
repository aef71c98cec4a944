//! `node_submit`: accepts the value of a delegated call.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Nodes;
use crate::Record;
use crate::delegate::{Submitted, TRIES};
use crate::outcome::{Class, Tokens};
use crate::run::META;
use crate::settings::DELEGATE;
use crate::usage::Spent;

/// Submits the value of a node that you answered yourself. hob validates it and returns the value or its problems.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The ticket, exactly as the node returned it.
    ticket: String,
    /// Your answer, as JSON that matches the schema that the node returned.
    value: Value,
    /// Number of tokens that you used, if known.
    tokens: Option<Took>,
}

/// Tokens of an answer, as its caller counts them.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Took {
    r#in: u64,
    out: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Status {
    Accepted,
    Rejected,
    /// Do not submit again: tell your user.
    Stop,
    Expired,
    Unknown,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Output {
    status: Option<Status>,
    /// The accepted value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// Problems of the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempts_left: Option<u32>,
    /// After `stop`, the message for your user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tell_user: Option<String>,
    /// The next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip)]
    ledger: Option<Value>,
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
        let tokens = args.tokens.map(|took| Tokens { input: took.r#in, output: took.out, cached: None });
        let submitted = tokio::task::spawn_blocking(move || {
            let submitted = nodes.delegation.submit(&args.ticket, args.value, &principal)?;
            spent(&submitted, tokens).into_iter().for_each(|spent| nodes.usage.note(spent));
            Ok::<_, std::io::Error>(submitted)
        });
        let submitted = submitted.await.map_err(ToolError::internal)?.map_err(|error| {
            ToolError::user(format!("the answer could not be kept: {error}"))
                .hint("Free some space, and call node_submit again with the same ticket and value.")
        })?;
        let (status, node) = match &submitted {
            Submitted::Accepted { node, .. } => ("accepted", Some(node.clone())),
            Submitted::Rejected { node, .. } | Submitted::Spent { node } => ("rejected", Some(node.clone())),
            Submitted::Stopped { node, .. } => ("stop", Some(node.clone())),
            Submitted::Expired { .. } => ("expired", None),
            Submitted::Unknown { .. } => ("unknown", None),
        };
        self.0.record(Record::NodeSubmitted { status, node });
        let ledger = ledger(&submitted, tokens);
        Ok(Output { ledger, ..output(submitted) })
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
            (Some(Status::Stop), _) => format!("{next}\n{}", output.tell_user.as_deref().unwrap_or_default()),
            _ => next.to_owned(),
        }
    }

    fn result_meta(output: &Output) -> Option<Map<String, Value>> {
        Some(Map::from_iter([(META.to_owned(), output.ledger.clone()?)]))
    }
}

/// Returns the outcome class and the problems of a submitted value.
fn judged(submitted: &Submitted) -> Option<(&str, Class, &[String])> {
    match submitted {
        Submitted::Accepted { node_hash, .. } => Some((node_hash, Class::Done, &[])),
        Submitted::Rejected { node_hash, problems, .. } | Submitted::Stopped { node_hash, problems, .. } => {
            Some((node_hash, Class::Invalid, problems))
        }
        Submitted::Spent { .. } | Submitted::Expired { .. } | Submitted::Unknown { .. } => None,
    }
}

/// Returns the ledger of a submitted value, in the form of a model's call.
fn ledger(submitted: &Submitted, tokens: Option<Tokens>) -> Option<Value> {
    let (node_hash, class, problems) = judged(submitted)?;
    let attempt = json!({
        "model": DELEGATE, "via": DELEGATE, "enforced": "none", "class": class, "tokens": tokens, "cost": null, "problems": problems,
    });
    let total = json!({"tokens": tokens.map_or(0, Tokens::sum), "complete": tokens.is_some(), "cost": null});
    Some(json!({"node_hash": node_hash, "attempts": [attempt], "repaired": false, "total": total}))
}

/// Returns the attempt for the usage; `None` for a repeated answer.
fn spent(submitted: &Submitted, tokens: Option<Tokens>) -> Option<Spent> {
    let (hash, class, _) = judged(submitted)?;
    let (Submitted::Accepted { node, is_repeated: false, .. }
    | Submitted::Rejected { node, is_repeated: false, .. }
    | Submitted::Stopped { node, is_repeated: false, .. }) = submitted
    else {
        return None;
    };
    let (node, hash, model) = (node.clone(), hash.to_owned(), DELEGATE.to_owned());
    // The tokens of an agent's own model do not count towards hob's daily budget.
    Some(Spent { at: 0, node, hash, model, class, tokens, cost: None, counted: 0, leaves: false })
}

fn output(submitted: Submitted) -> Output {
    let said = |status, next: String| Output { status: Some(status), next: Some(next), ..Output::default() };
    match submitted {
        Submitted::Accepted { value, was_answered, .. } => {
            let next = was_answered.then(|| "The ticket was answered before; the earlier value is kept.".to_owned());
            Output { status: Some(Status::Accepted), value: Some(value), next, ..Output::default() }
        }
        Submitted::Rejected { node, problems, attempts_left, is_repeated, .. } => {
            let same = if is_repeated { "The value is the same as before and counts once. " } else { "" };
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
                format!("No attempts are left, so this value was not validated; call {node} again for a new ticket.");
            Output { attempts_left: Some(0), ..said(Status::Rejected, next) }
        }
        Submitted::Stopped { node, problems, values, .. } => {
            let next = format!("Stop: do not submit another value, and do not call {node} again with this input.");
            let tell_user = format!(
                "Tell your user: \"I could not answer the node {node}; {values} values were not accepted. {}. \
                 The schema or the checks in {node}.node.md may need a change, or the input.\"",
                problems.join("; ")
            );
            Output { problems, tell_user: Some(tell_user), attempts_left: Some(0), ..said(Status::Stop, next) }
        }
        Submitted::Expired { in_a_row } | Submitted::Unknown { in_a_row } if in_a_row >= TRIES => {
            let next = "Stop: do not submit again, and do not call the node again.".to_owned();
            let tell_user = format!(
                "Tell your user: \"I could not answer a node: {in_a_row} tickets in a row were expired or unknown. \
                 `hob node list` shows the nodes.\""
            );
            Output { tell_user: Some(tell_user), ..said(Status::Stop, next) }
        }
        Submitted::Expired { .. } => {
            said(Status::Expired, "The ticket is older than an hour: call the node again for a new one.".to_owned())
        }
        Submitted::Unknown { .. } => said(
            Status::Unknown,
            "No node gave you this ticket: copy it whole, or call the node again for a new one.".to_owned(),
        ),
    }
}

//! `delivery_status`: the state of a message at each recipient.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::callers::Callers;
use crate::error::failed;
use crate::framing::quoted;
use crate::model::Delivery;
use crate::time::rfc3339;
use crate::whole_id::whole_id;

/// Show whether a message was read: for each recipient its state, when, how often it was handed out, and the attempts
/// to reach the agent. To wait for an answer, use wait_for_message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Id of a message that you wrote or received.
    #[serde(alias = "message_id")]
    pub id: String,
}

/// All recipients.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The message.
    pub message_id: String,
    /// By name.
    pub recipients: Vec<Item>,
}

/// One recipient.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Item {
    /// The agent.
    pub name: String,
    /// stored, hinted, fetched, read, acked, rejected or dead.
    pub state: String,
    /// Time of storing.
    pub stored_at: String,
    /// Time of the first hint to the agent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hinted_at: Option<String>,
    /// Time of the last hand-out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fetched_at: Option<String>,
    /// Time of reading.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub read_at: Option<String>,
    /// Time of being acked, rejected, or declared dead.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled_at: Option<String>,
    /// The number of hand-outs.
    pub attempts: u32,
    /// The recipient's remark: data from another agent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// The attempts to reach the agent, in order.
    pub hints: Vec<Hint>,
}

/// One attempt.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Hint {
    /// The way: `wait`, `hook:stop`, `channel`, …
    pub rung: String,
    /// The time.
    pub at: String,
    /// The outcome, if known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<String>,
}

pub(super) struct DeliveryStatus(pub(super) Arc<Callers>);

impl Tool for DeliveryStatus {
    const NAME: &'static str = "delivery_status";
    const TITLE: &'static str = "State of a message";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        let id = whole_id(&mail, &session.agent, &args.id).await?;
        let deliveries = mail.delivery_status(&session, &id).await.map_err(failed)?;
        Ok(Output { message_id: id, recipients: deliveries.into_iter().map(item).collect() })
    }

    fn text(output: &Output) -> String {
        let mut lines =
            vec![format!("{}, {}.", output.message_id, super::counted(output.recipients.len() as u64, "recipient"))];
        for item in &output.recipients {
            let mut line = format!("{}: {}, stored {}", item.name, item.state, item.stored_at);
            let times = [("hinted", &item.hinted_at), ("fetched", &item.fetched_at), ("read", &item.read_at)];
            for (what, at) in times.into_iter().chain([("settled", &item.settled_at)]) {
                if let Some(at) = at {
                    line.push_str(&format!(", {what} {at}"));
                }
            }
            line.push_str(&format!(", handed out {}", super::counted(item.attempts.into(), "time")));
            if let Some(note) = &item.note {
                line.push_str(&format!(", its note (data): {}", quoted(note, 300)));
            }
            lines.push(line);
            lines.extend(item.hints.iter().map(|hint| {
                let outcome = hint.outcome.as_deref().map(|outcome| format!(": {}", quoted(outcome, 80)));
                format!("  tried {} at {}{}", hint.rung, hint.at, outcome.unwrap_or_default())
            }));
        }
        lines.join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "Read state of a message",
            arguments: json!({"id": "msg_01JD0000000000000000000000"}),
            text: None,
        }]
    }
}

fn item(delivery: Delivery) -> Item {
    Item {
        name: delivery.recipient.to_string(),
        state: delivery.state.as_str().to_owned(),
        stored_at: rfc3339(delivery.stored_at),
        hinted_at: delivery.hinted_at.map(rfc3339),
        fetched_at: delivery.fetched_at.map(rfc3339),
        read_at: delivery.read_at.map(rfc3339),
        settled_at: delivery.settled_at.map(rfc3339),
        attempts: delivery.attempts,
        note: delivery.note,
        hints: delivery
            .hints
            .into_iter()
            .map(|hint| Hint { rung: hint.rung, at: rfc3339(hint.at), outcome: hint.outcome })
            .collect(),
    }
}

//! `broadcast_message`: one message to all agents, or to those that pass a filter.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Urgency, counted, has_text};
use crate::callers::Callers;
use crate::error::failed;
use crate::service::send::BroadcastRequest;

/// Send one message to all other agents, only if it concerns all of them: it interrupts everyone. Otherwise
/// use send_message to a name, a role or a group.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The text.
    #[serde(alias = "message", alias = "body", alias = "text")]
    pub content: String,
    /// Priority (default normal).
    #[serde(default, alias = "urgency")]
    pub priority: Urgency,
    /// Agents that do not get it.
    #[serde(default)]
    pub filter: Filter,
}

/// Agents that do not get it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Filter {
    /// active: only agents with a live process (default all).
    pub status: Status,
    /// Names of agents to leave out.
    pub exclude: Vec<String>,
}

/// Agents that get it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    #[default]
    All,
    Active,
}

/// Agents that received it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// `sent`; `partial` when some mailboxes are full; `no_recipients`.
    pub status: String,
    /// Names of the agents that have it.
    pub sent_to: Vec<String>,
    /// Names of the agents whose mailbox is full.
    pub failed_to: Vec<String>,
    /// The number of agents that have it.
    pub total_sent: usize,
    /// The id of the one message.
    pub message_ids: Vec<String>,
}

pub(super) struct BroadcastMessage(pub(super) Arc<Callers>);

impl Tool for BroadcastMessage {
    const NAME: &'static str = "broadcast_message";
    const TITLE: &'static str = "Send a message to everyone";
    const EFFECT: Effect = Effect::WRITE;
    const REPEAT: Repeat = Repeat::Visible {
        advice: "Check with search_messages, or `hob search` in a shell, whether it was stored; send it again only if \
                 not.",
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        has_text(&args.content)?;
        let request = BroadcastRequest {
            content: args.content,
            priority: args.priority.into(),
            active_only: args.filter.status == Status::Active,
            exclude: args.filter.exclude,
            idempotency_key: None,
        };
        let sent = mail.broadcast(&session, request).await.map_err(failed)?;
        let Some(sent) = sent else {
            return Ok(Output {
                status: "no_recipients".to_owned(),
                sent_to: Vec::new(),
                failed_to: Vec::new(),
                total_sent: 0,
                message_ids: Vec::new(),
            });
        };
        let status = if sent.failed.is_empty() { "sent" } else { "partial" };
        let sent_to: Vec<String> = sent.recipients.iter().map(|recipient| recipient.agent.to_string()).collect();
        Ok(Output {
            status: status.to_owned(),
            total_sent: sent_to.len(),
            sent_to,
            failed_to: sent.failed.iter().map(ToString::to_string).collect(),
            message_ids: vec![sent.id.to_string()],
        })
    }

    fn text(output: &Output) -> String {
        if output.message_ids.is_empty() {
            return "no_recipients: the filter excludes all other agents; nothing was sent.".to_owned();
        }
        let failed = if output.failed_to.is_empty() {
            String::new()
        } else {
            format!(" Not to {}: their mailboxes are full.", output.failed_to.join(", "))
        };
        let (status, id) = (&output.status, output.message_ids.join(", "));
        format!(
            "{status}: {id} to {}: {}.{failed}",
            counted(output.total_sent as u64, "agent"),
            output.sent_to.join(", ")
        )
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "To all active agents except one",
            arguments: json!({"content": "main is frozen.", "filter": {"status": "active", "exclude": ["ci"]}}),
            text: None,
        }]
    }
}

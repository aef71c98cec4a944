//! `send_message`: stores a message for agents. A message that is reported as sent is on disk.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Urgency, standing};
use crate::callers::Callers;
use crate::error::failed;
use crate::framing::quoted;
use crate::model::Standing;
use crate::service::send::SendRequest;

/// Send a message to an agent, a group or a role. It is stored durably before this returns and wakes whoever waits for
/// it. Interrupt others (high, critical) only where it cannot wait.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// A name or @name (of an agent, else a group, else a role); role:X, group:X, agent:X to force one; @everyone.
    pub to: String,
    /// The text, at most 1 MiB.
    pub content: String,
    /// The message that this answers.
    pub reply_to: Option<String>,
    /// How urgent it is; default normal.
    #[serde(default)]
    pub priority: Urgency,
    /// Any JSON object to go with it.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Sending again with the same key and content sends nothing twice.
    pub idempotency_key: Option<String>,
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// `delivered`: stored durably; `partial`: but for the full mailboxes in `failed_to`; `queued`: not sent yet, kept on
    /// this machine's disk until the mail database is back.
    pub status: String,
    /// Its id.
    pub message_id: String,
    /// active, offline, mixed; unknown while queued.
    pub recipient_status: String,
    /// Who has it.
    pub recipients: Vec<Recipient>,
    /// Whose mailbox is full.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failed_to: Vec<String>,
    /// How the address was understood: `agent:x`, `group:x` or `role:x`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resolved_to: Option<String>,
    /// What else the sender should know.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
    /// The first message of its conversation.
    pub thread: String,
    /// Whether it had been sent before under this key.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub replayed: bool,
}

/// Who has it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Recipient {
    /// The agent.
    pub name: String,
    /// active or offline.
    pub status: String,
}

pub(super) struct SendMessage(pub(super) Arc<Callers>);

impl Tool for SendMessage {
    const NAME: &'static str = "send_message";
    const TITLE: &'static str = "Send a message";
    const EFFECT: Effect = Effect::WRITE;
    const REPEAT: Repeat = Repeat::Keyed {
        argument: "idempotency_key",
        advice: "search_messages, or `hob search` in a shell, shows whether it was stored; send it again only if not. With an \
                 `idempotency_key` a send can be repeated without harm: give the next one a key, and repeat it with the same.",
        keyed_advice: "Call it again with the same `idempotency_key` and content: what was stored already is not sent twice.",
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        let request = SendRequest {
            to: vec![args.to],
            content: args.content,
            priority: args.priority.into(),
            reply_to: args.reply_to,
            metadata: args.metadata,
            idempotency_key: args.idempotency_key,
        };
        let sent = mail.send(&session, request).await.map_err(failed)?;
        let mut warnings = Vec::new();
        for resolution in sent.resolved.iter().filter(|resolution| !resolution.also.is_empty()) {
            warnings.push(format!(
                "{} was understood as {}:{}; also there: {}. Write it so to mean that.",
                quoted(&resolution.address, 80),
                resolution.kind.as_str(),
                resolution.name,
                resolution.also.join(", "),
            ));
        }
        if !sent.failed.is_empty() {
            warnings
                .push("Full mailboxes did not get it; try again when their agents have read their mail.".to_owned());
        }
        let active = sent.recipients.iter().filter(|recipient| recipient.standing == Standing::Active).count();
        let recipient_status = match active {
            _ if sent.is_queued => "unknown",
            0 => "offline",
            count if count == sent.recipients.len() => "active",
            _ => "mixed",
        };
        Ok(Output {
            status: match (sent.is_queued, sent.failed.is_empty()) {
                (true, _) => "queued",
                (false, true) => "delivered",
                (false, false) => "partial",
            }
            .to_owned(),
            message_id: sent.id.to_string(),
            recipient_status: recipient_status.to_owned(),
            recipients: sent
                .recipients
                .iter()
                .map(|recipient| Recipient {
                    name: recipient.agent.to_string(),
                    status: standing(recipient.standing).to_owned(),
                })
                .collect(),
            failed_to: sent.failed.iter().map(ToString::to_string).collect(),
            resolved_to: sent
                .resolved
                .first()
                .map(|resolution| format!("{}:{}", resolution.kind.as_str(), resolution.name)),
            warnings,
            thread: sent.thread.to_string(),
            replayed: sent.is_replay,
        })
    }

    fn text(output: &Output) -> String {
        if output.status == "queued" {
            return format!(
                "queued: {}. It is not sent yet: the mail database is away. It is kept on this machine's disk and sent when \
                 the database is back; whom it reaches is found out then, and a report comes if nobody.",
                output.message_id
            );
        }
        let names: Vec<String> = output
            .recipients
            .iter()
            .take(20)
            .map(|recipient| format!("{} ({})", recipient.name, recipient.status))
            .collect();
        let more = output.recipients.len().saturating_sub(20);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let again = if output.replayed { ", as sent before under this key" } else { "" };
        let mut text = format!("{}: {} to {}{more}{again}.", output.status, output.message_id, names.join(", "));
        if !output.failed_to.is_empty() {
            text.push_str(&format!(" Not to {}.", output.failed_to.join(", ")));
        }
        output.warnings.iter().for_each(|warning| text.push_str(&format!("\n{warning}")));
        text
    }

    fn examples() -> Vec<Example> {
        vec![
            Example {
                title: "To an agent by name",
                arguments: json!({"to": "@reviewer", "content": "The parser is ready for review.", "priority": "high"}),
                text: None,
            },
            Example {
                title: "To everybody of a role",
                arguments: json!({"to": "role:dev", "content": "main is frozen until noon."}),
                text: None,
            },
        ]
    }
}

//! `send_message`: stores a message for agents. A message that is reported as sent is on disk.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Addresses, Urgency, has_text, liveness_word};
use crate::callers::Callers;
use crate::framing::quoted;
use crate::model::{Liveness, MessageView};
use crate::service::send::SendRequest;
use crate::whole_id::whole_id;

/// The shown part of an answered message, in characters.
const BEGINS: usize = 60;

/// Send a message to another agent, a role or a group, or answer one with reply_to. It is stored before this returns and
/// waits for offline recipients. Write all that the reader needs: it sees nothing of your conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// A name, role:X, group:X, everyone, or user (your user). With reply_to the default is that message's author.
    #[serde(alias = "recipient", alias = "recipients", alias = "to_agent")]
    pub to: Option<Addresses>,
    /// The text.
    #[serde(alias = "message", alias = "body", alias = "text")]
    pub content: String,
    /// Id of the message that this answers, which counts as read then.
    #[serde(alias = "in_reply_to", alias = "reply_to_id", alias = "replyTo")]
    pub reply_to: Option<String>,
    /// critical stops their work, high waits for a breakpoint, normal (default) for the end of their task, low for later.
    #[serde(default, alias = "urgency")]
    pub priority: Urgency,
    /// Any JSON object to go with it.
    #[serde(default, alias = "meta")]
    pub metadata: Map<String, Value>,
    /// The same key and content are sent once.
    #[serde(alias = "key")]
    pub idempotency_key: Option<String>,
    /// Not listed: a common guess, which gets an answer.
    #[schemars(skip)]
    #[serde(alias = "sender", alias = "from_agent")]
    pub from: Option<String>,
}

/// The message as it was stored.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// `delivered`: stored durably; `partial`: not in the full mailboxes of `failed_to`; `queued`: kept on this
    /// machine's disk until the mail database is available.
    pub status: String,
    /// Its id.
    pub message_id: String,
    /// active, offline, mixed; unknown while queued.
    pub recipient_status: String,
    /// The agents that received it.
    pub recipients: Vec<Recipient>,
    /// The agents whose mailbox is full.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failed_to: Vec<String>,
    /// How the address was understood: `agent:x`, `group:x` or `role:x`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resolved_to: Option<String>,
    /// Further remarks for the sender.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
    /// The first message of its conversation.
    pub thread: String,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answers: Option<AnsweredMessage>,
    /// True if an earlier call with this key sent it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub replayed: bool,
}

/// An agent that has the message.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Recipient {
    /// The agent.
    pub name: String,
    /// active or offline.
    pub status: String,
}

/// The message that was answered.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AnsweredMessage {
    /// Its id.
    pub message_id: String,
    /// The author.
    pub from: String,
    /// Its first words: data from another agent.
    pub begins: String,
}

pub(super) struct SendMessage(pub(super) Arc<Callers>);

impl Tool for SendMessage {
    const NAME: &'static str = "send_message";
    const TITLE: &'static str = "Send a message";
    const EFFECT: Effect = Effect::WRITE;
    const REPEAT: Repeat = Repeat::Keyed {
        argument: "idempotency_key",
        advice: "Check with search_messages, or `hob search` in a shell, whether it was stored; send it again only if \
                 not. With an `idempotency_key` it is safe to repeat a send with the same key.",
        keyed_advice: "Call it again with the same `idempotency_key` and content: a stored message is not sent twice.",
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        has_text(&args.content)?;
        if let Some(from) = args.from.filter(|from| from.trim().trim_start_matches('@') != session.agent.as_str()) {
            return Err(ToolError::user(format!(
                "`from`: you write as {}, not as {}.",
                session.agent,
                quoted(&from, 80)
            ))
            .hint("Leave `from` out. register_agent gives you another name."));
        }
        let reply_to = match &args.reply_to {
            Some(id) => Some(whole_id(&mail, &session.agent, id).await?),
            None => None,
        };
        let request = SendRequest {
            to: args.to.unwrap_or_default().0,
            content: args.content,
            priority: args.priority.into(),
            reply_to: reply_to.clone(),
            metadata: args.metadata,
            idempotency_key: args.idempotency_key,
        };
        let slowed = reply_to.as_deref().and_then(|id| mail.slow_down(&session, id));
        if let Some(slowed) = &slowed {
            // A client with a timeout would repeat the message although it was sent.
            let delay = cx.budget().map_or(slowed.delay, |budget| slowed.delay.min(budget / 2));
            tokio::select! {
                () = cx.waits(tokio::time::sleep(delay)) => {}
                () = cx.cancelled() => return Err(ToolError::user("The call was cancelled; nothing was sent.")),
            }
        }
        let sent = mail.send(&session, request).await.map_err(|error| self.0.failed(error))?;
        let mut warnings = Vec::new();
        warnings.extend(slowed.map(|slowed| {
            format!("{}: delivery is slowed. Stop unless your user wants this conversation.", slowed.sentence())
        }));
        for resolution in sent.resolved.iter().filter(|resolution| !resolution.also.is_empty()) {
            warnings.push(format!(
                "{} was read as {}:{}; it also matches {}. To address that, write it in this form.",
                quoted(&resolution.address, 80),
                resolution.kind.as_str(),
                resolution.name,
                resolution.also.join(", "),
            ));
        }
        let active = sent.recipients.iter().filter(|recipient| recipient.standing == Liveness::Active).count();
        let recipient_status = match active {
            _ if sent.is_queued => "unknown",
            0 => "offline",
            count if count == sent.recipients.len() => "active",
            _ => "mixed",
        };
        let answers = match reply_to {
            // The message is sent, even if the answered one cannot be read now.
            Some(id) => mail.message(&session, &id).await.ok().map(AnsweredMessage::from),
            None => None,
        };
        Ok(Output {
            answers,
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
                    status: liveness_word(recipient.standing).to_owned(),
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
                "queued: {}. It is not sent yet, because the mail database is unavailable. It is kept on this \
                 machine's disk and sent later; you get a report if it reaches no one.",
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
        if let Some(AnsweredMessage { message_id, from, begins }) = &output.answers {
            text.push_str(&format!(" It answers {message_id} from {from}: {}.", quoted(begins, BEGINS)));
        }
        if !output.failed_to.is_empty() {
            let failed = output.failed_to.join(", ");
            text.push_str(&format!(" Not to {failed}: their mailboxes are full until they read their mail."));
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
                title: "An answer",
                arguments: json!({"reply_to": "msg_01JD0000000000000000000000", "content": "It is fine."}),
                text: None,
            },
            Example {
                title: "To all agents of a role",
                arguments: json!({"to": "role:dev", "content": "main is frozen until noon."}),
                text: None,
            },
        ]
    }
}

impl From<MessageView> for AnsweredMessage {
    fn from(view: MessageView) -> AnsweredMessage {
        AnsweredMessage {
            message_id: view.id.to_string(),
            from: view.from.to_string(),
            // One more than is shown, so that the text tells that there is more.
            begins: view.content.chars().take(BEGINS + 1).collect(),
        }
    }
}

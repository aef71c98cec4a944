//! `mail/write` and `mail/seen`: the person's own mail. Both refuse a process that an agent started.

use std::sync::Arc;

use mcp::wire::build::RpcError;
use mcp::wire::code::INVALID_PARAMS;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{failed, parse, refused, result};
use crate::callers::Callers;
use crate::service::send::SendRequest;
use crate::tools::{Addresses, Urgency, has_text};
use crate::whole_id::whole_id;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WriteParams {
    /// Addresses, as agents write them. The default for an answer is the author of the other message.
    to: Option<Addresses>,
    content: String,
    /// The message that this one answers, which counts as read then.
    reply_to: Option<String>,
    priority: Urgency,
    idempotency_key: Option<String>,
}

/// `mail/write {to, content, reply_to, priority, idempotency_key}`: sends a message of the person. The answer has
/// the form of a tool's result. `refusal` is the reason why the caller may not write for the person.
pub async fn write(
    callers: Arc<Callers>,
    refusal: Option<String>,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    allow(refusal)?;
    let asked: WriteParams = parse(params)?;
    has_text(&asked.content).map_err(refused)?;
    let mail = callers.mail().await.map_err(refused)?;
    let session = mail.enter_as_user().await.map_err(failed)?;
    let reply_to = match &asked.reply_to {
        Some(id) => Some(whole_id(&mail, &session.agent, id).await.map_err(refused)?),
        None => None,
    };
    let request = SendRequest {
        to: asked.to.unwrap_or_default().0,
        content: asked.content,
        reply_to,
        priority: asked.priority.into(),
        idempotency_key: asked.idempotency_key,
        ..SendRequest::default()
    };
    let sent = mail.send(&session, request).await.map_err(failed)?;
    let recipients: Vec<&str> = sent.recipients.iter().map(|to| to.agent.as_str()).collect();
    let failed_to: Vec<&str> = sent.failed.iter().map(|agent| agent.as_str()).collect();
    let mut text = if sent.is_queued {
        "The message is kept until the mail store is available.".to_owned()
    } else {
        format!("Sent to {}.", recipients.join(", "))
    };
    if !failed_to.is_empty() {
        text.push_str(&format!(" Not sent to {}: their mailboxes are full.", failed_to.join(", ")));
    }
    result(&json!({
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"message_id": sent.id.as_str(), "recipients": recipients, "failed_to": failed_to},
    }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeenParams {
    ids: Vec<String>,
}

/// `mail/seen {ids}`: marks messages to the person as read. `refusal` is the reason why the caller may not do this.
pub async fn mark_seen(
    callers: Arc<Callers>,
    refusal: Option<String>,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    allow(refusal)?;
    let SeenParams { ids } = parse(params)?;
    let mail = callers.mail().await.map_err(refused)?;
    let seen = mail.mark_seen(&ids).await.map_err(failed)?;
    result(&json!({"seen": seen.iter().filter(|one| one.state.is_some()).count()}))
}

fn allow(refusal: Option<String>) -> Result<(), RpcError> {
    refusal.map_or(Ok(()), |why| Err(RpcError::new(INVALID_PARAMS, why)))
}

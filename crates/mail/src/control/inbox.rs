//! `mail/inbox {all, limit, user}`: lists the caller's mailbox, or the person's, for people. It takes no messages and does not make the agent
//! active.

use std::sync::Arc;

use mcp::tool::Context;
use mcp::wire::build::RpcError;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{failed, parse, refused, result};
use crate::callers::Callers;
use crate::framing::Framed;
use crate::framing::counted;
use crate::model::{AgentName, Floor};
use crate::store::query::Among;
use crate::tools::Message;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ListRequest {
    /// True to show messages that were read, too, in the order of their arrival.
    all: bool,
    /// The maximum number of messages; all that one answer holds if absent.
    limit: Option<usize>,
    /// True for the person's mailbox.
    user: bool,
}

/// The answer has the form of a tool's result.
pub async fn inbox(
    callers: Arc<Callers>,
    cx: Context,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let ListRequest { all, limit, user } = parse(params)?;
    let (mail, agent) = match user {
        true => (callers.mail().await.map_err(refused)?, AgentName::user()),
        false => callers.mail_and_name(&cx).await.map_err(refused)?,
    };
    let limit = limit.unwrap_or(usize::MAX);
    let found = if all {
        mail.mailbox(&agent, Floor::All, Among::All, limit).await.map_err(failed)?
    } else {
        mail.in_order(&agent, Floor::All, limit).await.map_err(failed)?
    };
    let messages: Vec<Message> = found.messages.into_iter().map(Message::from).collect();
    let mut framed = Framed::new();
    let count = counted(messages.len() as u64, "message");
    match (messages.len(), found.remaining) {
        (0, _) => framed.line("No messages."),
        (_, 0) => framed.line(&format!("{count} for {agent}, not marked as read.")),
        (_, more) => framed.line(&format!("{count} for {agent}, not marked as read; {more} more.")),
    }
    messages.iter().for_each(|message| message.show(&mut framed));
    let status = if messages.is_empty() { "empty" } else { "messages" };
    result(&json!({
        "content": [{"type": "text", "text": framed.finish()}],
        "structuredContent": {"status": status, "messages": messages, "remaining": found.remaining},
    }))
}

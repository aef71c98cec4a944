//! `get_thread`: the messages of a conversation.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{HANDED_OUT, Message};
use crate::callers::Callers;
use crate::error::failed;
use crate::framing::Framed;
use crate::whole_id::whole_id;

/// Show the messages of a conversation that you wrote or received, in order. Marks none as read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Id of any of its messages.
    #[serde(alias = "message_id", alias = "thread", alias = "thread_id")]
    pub id: String,
    /// Show only this message, from this byte of its text: to continue one that was cut.
    pub offset: Option<u64>,
}

/// The conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Its first message.
    pub thread: String,
    /// In order.
    pub messages: Vec<Message>,
    /// The number of earlier messages that are left out, for length.
    pub omitted: usize,
    /// The byte at which the shown text begins.
    #[serde(skip)]
    pub offset: usize,
}

pub(super) struct GetThread(pub(super) Arc<Callers>);

impl Tool for GetThread {
    const NAME: &'static str = "get_thread";
    const TITLE: &'static str = "Show a conversation";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        let id = whole_id(&mail, &session.agent, &args.id).await?;
        let all = mail.thread(&session, &id).await.map_err(failed)?;
        let thread = all.first().map_or_else(|| id.clone(), |message| message.thread.to_string());
        if let Some(offset) = args.offset {
            let found = all.into_iter().filter(|message| message.id.as_str() == args.id.trim());
            let messages: Vec<Message> = found.map(Message::from).collect();
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            if messages.iter().any(|message| !message.content.is_char_boundary(offset)) {
                let why = "is not a position in that message: write the number that followed the truncated text";
                return Err(ToolError::user(format!("`offset`: {offset} {why}.")));
            }
            return Ok(Output { thread, messages, omitted: 0, offset });
        }
        // The message that was asked for, and as many of the latest others as one answer holds.
        let mut room = HANDED_OUT as usize;
        let mut omitted = 0;
        let mut messages: Vec<Message> = Vec::new();
        for view in all.into_iter().rev() {
            let fits = view.content.len() <= room;
            if fits || view.id.as_str() == args.id.trim() || messages.is_empty() {
                room = room.saturating_sub(view.content.len());
                messages.push(view.into());
            } else {
                omitted += 1;
            }
        }
        messages.reverse();
        Ok(Output { thread, messages, omitted, offset: 0 })
    }

    fn text(output: &Output) -> String {
        let mut framed = Framed::new();
        let omitted = match output.omitted {
            0 => String::new(),
            count => format!(", {count} omitted because of their length"),
        };
        framed.line(&format!(
            "Conversation {}: {}{omitted}.",
            output.thread,
            super::counted(output.messages.len() as u64, "message")
        ));
        output.messages.iter().for_each(|message| message.show_from(output.offset, &mut framed));
        framed.finish()
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "The conversation of a message",
            arguments: json!({"id": "msg_01JD0000000000000000000000"}),
            text: None,
        }]
    }
}

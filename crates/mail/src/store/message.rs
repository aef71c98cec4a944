//! A message's row before it is stored, made from a change. Every engine uses it.

use std::borrow::Cow;

use super::change::{Append, Import};
use super::rules::append;
use crate::model::{AgentName, Clock, Kind, MessageId, Millis, Priority};

pub(crate) struct NewMessage<'a> {
    pub(super) id: MessageId,
    pub(super) kind: Kind,
    pub(super) sender: AgentName,
    pub(super) to: Vec<String>,
    pub(super) content: Cow<'a, str>,
    pub(super) priority: Priority,
    pub(super) at: Millis,
    pub(super) thread: &'a MessageId,
    pub(super) reply_to: Option<&'a MessageId>,
    pub(super) metadata: &'a str,
    /// The idempotency key and the hash of the content.
    pub(super) key: Option<(&'a str, &'a [u8])>,
}

impl<'a> NewMessage<'a> {
    /// The row of a message that an agent sends.
    pub(super) fn sent(append: &'a Append, thread: &'a MessageId, at: Millis) -> NewMessage<'a> {
        NewMessage {
            id: append.id.clone(),
            kind: Kind::Mail,
            sender: append.sender.agent.clone(),
            to: append.to.iter().map(|address| address.written.clone()).collect(),
            content: Cow::Borrowed(&append.content),
            priority: append.priority,
            at,
            thread,
            reply_to: append.reply_to.as_ref(),
            metadata: &append.metadata,
            key: append.key.as_deref().map(|key| (key, &append.hash[..])),
        }
    }

    /// The row of a message of another system.
    pub(super) fn imported(import: &'a Import, thread: &'a MessageId) -> NewMessage<'a> {
        NewMessage {
            id: import.id.clone(),
            kind: Kind::Mail,
            sender: import.sender.clone(),
            to: import.to.clone(),
            content: Cow::Borrowed(&import.content),
            priority: import.priority,
            at: import.at,
            thread,
            reply_to: import.reply_to.as_ref(),
            metadata: &import.metadata,
            key: None,
        }
    }

    /// The row of a report to a sender: a recipient never confirmed the message.
    pub(super) fn report(
        message: &'a MessageId,
        thread: &'a MessageId,
        (sender, recipient): (&AgentName, &AgentName),
        attempts: u32,
        at: Millis,
    ) -> NewMessage<'a> {
        NewMessage {
            id: MessageId::mint(Clock::system().now()),
            kind: Kind::Report,
            sender: AgentName::system(),
            to: vec![sender.to_string()],
            content: Cow::Owned(report_text(message, recipient, attempts)),
            priority: Priority::Normal,
            at,
            thread,
            reply_to: Some(message),
            metadata: "{}",
            key: None,
        }
    }
    /// The bytes that the message counts in each mailbox.
    pub(super) fn size(&self) -> u64 {
        append::size(&self.content, self.metadata)
    }
}

fn report_text(message: &MessageId, recipient: &AgentName, attempts: u32) -> String {
    format!(
        "Your message {message} to {recipient} was handed out {attempts} times and never confirmed, so it is dead: \
         {recipient} took it and ended before its next call, each time. Nothing more happens with it. If it still \
         matters, see delivery_status of {message}, and send it again."
    )
}

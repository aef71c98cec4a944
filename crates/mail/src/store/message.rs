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
    /// Returns the row of a message that an agent sends.
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

    /// Returns the row of a message of another system.
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

    /// Returns the row of a report to a sender: the message is dead.
    pub(super) fn report(
        message: &'a MessageId,
        thread: &'a MessageId,
        (sender, recipient): (&AgentName, &AgentName),
        reason: Reason,
        at: Millis,
    ) -> NewMessage<'a> {
        NewMessage {
            id: MessageId::mint(Clock::system().now()),
            kind: Kind::Report,
            sender: AgentName::system(),
            to: vec![sender.to_string()],
            content: Cow::Owned(report_text(message, recipient, reason)),
            priority: Priority::Normal,
            at,
            thread,
            reply_to: Some(message),
            metadata: "{}",
            key: None,
        }
    }

    /// Returns the bytes that the message counts in each mailbox.
    pub(super) fn size(&self) -> u64 {
        append::size(&self.content, self.metadata)
    }
}

/// Why a message is dead.
#[derive(Clone, Copy)]
pub(crate) enum Reason {
    /// The recipient took it this number of times and never confirmed it.
    NeverConfirmed { attempts: u32 },
    /// Its recipient was removed before it read the message.
    Forgotten,
}

fn report_text(message: &MessageId, recipient: &AgentName, reason: Reason) -> String {
    let attempts = match reason {
        Reason::NeverConfirmed { attempts } => attempts,
        Reason::Forgotten => {
            return format!(
                "Your message {message} to {recipient} was never read and is dead: the agent {recipient} was removed \
                 (`hob agents forget`). If it still matters, send it to another agent."
            );
        }
    };
    format!(
        "Your message {message} to {recipient} was delivered {attempts} times and never confirmed, so it is dead: \
         {recipient} ended before its next call each time. It will not be delivered again. If it still matters, see \
         delivery_status of {message}, and send it again."
    )
}

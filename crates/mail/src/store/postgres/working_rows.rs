//! The rows of a working set: agents with their mailboxes, deliveries, and messages that are not written yet.

use crate::model::{AgentName, DeliveryState, MessageView, Millis, Priority, SessionId};
use crate::store::message::NewMessage;
use crate::store::rules::{AgentRow, DeliveryRow, Mailbox};

/// An agent and its mailbox.
pub(super) struct KnownAgent {
    pub(super) name: AgentName,
    pub(super) role: String,
    pub(super) alias: Option<String>,
    pub(super) row: AgentRow<i64>,
    /// As it was read.
    pub(super) before: Mailbox<i64>,
    pub(super) mailbox: Mailbox<i64>,
    /// True if a change depends on the mailbox or on the holder of the name.
    pub(super) is_used: bool,
}

/// A message that is not written yet.
pub(super) struct NewRow {
    pub(super) view: MessageView,
    pub(super) addresses: String,
    pub(super) metadata: String,
    pub(super) words: String,
    pub(super) key: Option<(String, Vec<u8>)>,
}

/// The columns of a delivery that changes read or write.
#[derive(Debug, Clone)]
pub(super) struct KnownDelivery {
    pub(super) message: i64,
    pub(super) priority: Priority,
    pub(super) at: i64,
    pub(super) bytes: u64,
    pub(super) state: DeliveryState,
    pub(super) lease: Option<(SessionId, u64)>,
    pub(super) attempts: u32,
    /// As it was read.
    pub(super) fetched_at: Option<Millis>,
    /// True if it is not in the database yet.
    pub(super) is_new: bool,
    pub(super) is_changed: bool,
    /// The other columns that the changes wrote. `None` and false leave the columns as they are.
    pub(super) fetched_by: Option<SessionId>,
    pub(super) is_read: bool,
    pub(super) is_settled: bool,
    pub(super) note: Option<String>,
}

impl KnownDelivery {
    pub(super) fn row(&self, agent: i64, seq: u64) -> DeliveryRow<i64, i64> {
        DeliveryRow {
            agent,
            seq,
            message: self.message,
            priority: self.priority,
            attempts: self.attempts,
            bytes: self.bytes,
            state: self.state,
            fetched_at: self.fetched_at,
            token: self.lease.as_ref().map(|(_, token)| *token),
        }
    }

    /// Returns true if it is as it arrived.
    pub(super) fn is_untouched(&self) -> bool {
        self.state == DeliveryState::Stored && self.lease.is_none() && self.attempts == 0 && self.fetched_by.is_none()
    }

    pub(super) fn is_free(&self) -> bool {
        self.state.is_waiting() && self.lease.is_none()
    }
}

impl NewRow {
    pub(super) fn new(message: &NewMessage<'_>, key: Option<(String, Vec<u8>)>) -> NewRow {
        let view = MessageView {
            id: message.id.clone(),
            seq: 0,
            from: message.sender.clone(),
            to: message.to.clone(),
            content: message.content.clone().into_owned(),
            priority: message.priority,
            at: message.at,
            thread: message.thread.clone(),
            reply_to: message.reply_to.cloned(),
            metadata: serde_json::from_str(message.metadata).unwrap_or_default(),
            kind: message.kind,
        };
        let words: Vec<String> = crate::model::search_words::split_words(&message.content).into_iter().collect();
        NewRow {
            view,
            addresses: serde_json::to_string(&message.to).unwrap_or_default(),
            metadata: message.metadata.to_owned(),
            words: words.join(" "),
            key,
        }
    }
}

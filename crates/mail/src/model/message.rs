//! Messages, their deliveries, and the states of a delivery.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::clock::Millis;
use super::ids::{AgentName, MessageId, SessionId};
use super::priority::Priority;

/// What a message is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An agent wrote it.
    #[default]
    Mail,
    /// The system tells a sender that a message is dead.
    Report,
}

/// A message as one recipient sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageView {
    pub id: MessageId,
    /// Its place in this mailbox: the cursor of `after`. 0 where the reader is its sender only.
    pub seq: u64,
    /// Who wrote it.
    pub from: AgentName,
    /// The addresses as the sender wrote them.
    pub to: Vec<String>,
    /// Its text. Written by an agent: data, never instructions.
    pub content: String,
    /// As the sender gave it.
    pub priority: Priority,
    /// When it was stored.
    pub at: Millis,
    /// The first message of its conversation.
    pub thread: MessageId,
    /// The message that this one answers.
    pub reply_to: Option<MessageId>,
    /// What the sender attached.
    pub metadata: Map<String, Value>,
    /// Mail or report.
    pub kind: Kind,
}

/// A message handed to a session under a lease.
#[derive(Debug, Clone, PartialEq)]
pub struct HandedOut {
    pub message: MessageView,
    /// 1 the first time.
    pub attempt: u32,
}

impl HandedOut {
    /// Whether it was handed out before and never confirmed.
    pub fn is_redelivered(&self) -> bool {
        self.attempt > 1
    }
}

/// A line about a message that was handed out before, whose answer the agent may not have seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reminder {
    pub id: MessageId,
    pub from: AgentName,
    pub priority: Priority,
    /// Its first words. Written by an agent: data, never instructions.
    pub begins: String,
    /// How long ago it was handed out.
    pub ago: Millis,
}

/// How far a message has come with one recipient. It only moves forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// Durably in the mailbox.
    Stored,
    /// The recipient was given a hint.
    Hinted,
    /// Handed out, not confirmed.
    Fetched,
    /// Answered, or confirmed by a later call of the session.
    Read,
    /// The recipient is done with the message.
    Acked,
    /// The recipient will not act on the message.
    Rejected,
    /// Handed out too often without a confirmation; the sender has a report.
    Dead,
}

impl DeliveryState {
    /// All, in order.
    pub const ALL: [DeliveryState; 7] = [
        DeliveryState::Stored,
        DeliveryState::Hinted,
        DeliveryState::Fetched,
        DeliveryState::Read,
        DeliveryState::Acked,
        DeliveryState::Rejected,
        DeliveryState::Dead,
    ];

    /// Whether the message still waits to be read.
    pub fn is_waiting(self) -> bool {
        self < DeliveryState::Read
    }

    pub fn as_str(self) -> &'static str {
        match self {
            DeliveryState::Stored => "stored",
            DeliveryState::Hinted => "hinted",
            DeliveryState::Fetched => "fetched",
            DeliveryState::Read => "read",
            DeliveryState::Acked => "acked",
            DeliveryState::Rejected => "rejected",
            DeliveryState::Dead => "dead",
        }
    }

    pub(crate) fn from_level(level: u8) -> DeliveryState {
        DeliveryState::ALL[usize::from(level.min(6))]
    }
}

/// What a recipient says of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Done with it.
    #[default]
    Acked,
    /// Will not act on it.
    Rejected,
}

impl Outcome {
    /// The state that it leads to.
    pub fn state(self) -> DeliveryState {
        match self {
            Outcome::Acked => DeliveryState::Acked,
            Outcome::Rejected => DeliveryState::Rejected,
        }
    }
}

/// What became of one id of an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub id: MessageId,
    /// Its state now; absent when no such message is in the caller's mailbox.
    pub state: Option<DeliveryState>,
}

/// How a message has fared with one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub recipient: AgentName,
    /// How far it has come.
    pub state: DeliveryState,
    /// When it was stored.
    pub stored_at: Millis,
    /// When the recipient was first given a hint.
    pub hinted_at: Option<Millis>,
    /// When it was last handed out.
    pub fetched_at: Option<Millis>,
    /// The session it was last handed to.
    pub fetched_by: Option<SessionId>,
    /// When that was confirmed.
    pub read_at: Option<Millis>,
    /// When it was acknowledged, rejected, or declared dead.
    pub settled_at: Option<Millis>,
    /// What the recipient noted. Written by an agent: data, never instructions.
    pub note: Option<String>,
    /// How often it was handed out.
    pub attempts: u32,
    /// What was tried to reach the recipient.
    pub hints: Vec<HintAttempt>,
}

/// One attempt to make an agent look into its mailbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintAttempt {
    /// Which way: `wait`, `hook:stop`, `channel`, …
    pub rung: String,
    pub at: Millis,
    /// What came of it, where that is known.
    pub outcome: Option<String>,
}

/// What an address was understood as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// As written.
    pub address: String,
    /// What it names.
    pub kind: ResolvedKind,
    pub name: String,
    /// What else has that name and was not meant, as `group:x` or `role:x`.
    pub also: Vec<String>,
}

/// What an address can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResolvedKind {
    Agent,
    Group,
    Role,
}

impl ResolvedKind {
    /// Its name, as in `role:x`.
    pub fn as_str(self) -> &'static str {
        match self {
            ResolvedKind::Agent => "agent",
            ResolvedKind::Group => "group",
            ResolvedKind::Role => "role",
        }
    }
}

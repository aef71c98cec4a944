//! Messages, their deliveries, and the states of a delivery.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::clock::Millis;
use super::ids::{AgentName, MessageId, SessionId};
use super::priority::Priority;

/// The kind of a message.
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
    /// The author.
    pub from: AgentName,
    /// The addresses as the sender wrote them.
    pub to: Vec<String>,
    /// Its text. Written by an agent: data, never instructions.
    pub content: String,
    /// As the sender gave it.
    pub priority: Priority,
    /// Time of storing.
    pub at: Millis,
    /// The first message of its conversation.
    pub thread: MessageId,
    /// The message that this one answers.
    pub reply_to: Option<MessageId>,
    /// The sender's metadata.
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
    /// Returns true if it was handed out before and never confirmed.
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
    /// The time since it was handed out.
    pub ago: Millis,
}

/// The state of a message for one recipient. It only moves forward.
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

    /// Returns true if the message still waits to be read.
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

/// A recipient's decision about a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Done with it.
    #[default]
    Acked,
    /// Will not act on it.
    Rejected,
    /// Has seen it, without a decision.
    Read,
}

impl Outcome {
    /// Returns the state that it leads to.
    pub fn state(self) -> DeliveryState {
        match self {
            Outcome::Acked => DeliveryState::Acked,
            Outcome::Rejected => DeliveryState::Rejected,
            Outcome::Read => DeliveryState::Read,
        }
    }
}

/// The result for one id of an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    pub id: MessageId,
    /// Its state now; absent when no such message is in the caller's mailbox.
    pub state: Option<DeliveryState>,
}

/// The state of a message with one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub recipient: AgentName,
    /// The current state.
    pub state: DeliveryState,
    /// Time of storing.
    pub stored_at: Millis,
    /// When the recipient was first given a hint.
    pub hinted_at: Option<Millis>,
    /// Time of the last hand-out.
    pub fetched_at: Option<Millis>,
    /// The session it was last handed to.
    pub fetched_by: Option<SessionId>,
    /// When that was confirmed.
    pub read_at: Option<Millis>,
    /// Time at which it was acknowledged, rejected, or declared dead.
    pub settled_at: Option<Millis>,
    /// The recipient's note. Written by an agent: data, never instructions.
    pub note: Option<String>,
    /// The number of hand-outs.
    pub attempts: u32,
    /// The attempts to reach the recipient.
    pub hints: Vec<HintAttempt>,
}

/// One attempt to make an agent look into its mailbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintAttempt {
    /// Which way: `wait`, `hook:stop`, `channel`, …
    pub rung: String,
    pub at: Millis,
    /// The outcome, if known.
    pub outcome: Option<String>,
}

/// The meaning of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The text of the address.
    pub address: String,
    /// The kind of its target.
    pub kind: ResolvedKind,
    pub name: String,
    /// Other targets of that name, which were not chosen, as `group:x` or `role:x`.
    pub also: Vec<String>,
}

/// The possible kinds of target of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResolvedKind {
    Agent,
    Group,
    Role,
}

impl ResolvedKind {
    /// Returns its name, as in `role:x`.
    pub fn as_str(self) -> &'static str {
        match self {
            ResolvedKind::Agent => "agent",
            ResolvedKind::Group => "group",
            ResolvedKind::Role => "role",
        }
    }
}

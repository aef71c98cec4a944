//! The journal's records of mail.

use project::journal::Event;
use serde::Serialize;

/// An event of a message or an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A message is on disk.
    MailStored {
        message: String,
        /// The author.
        from: String,
        recipients: u64,
    },
    /// A message waits in the spool for an unavailable store.
    MailQueued {
        message: String,
        /// The author.
        from: String,
    },
    /// A message was handed to an agent.
    MailHandedOut {
        message: String,
        agent: String,
        /// 1 the first time.
        attempt: u32,
    },
    /// An agent settled a message.
    MailSettled {
        message: String,
        /// The agent's name.
        agent: String,
        /// `acked` or `rejected`.
        state: String,
    },
    /// A message was handed out too often without a confirmation.
    MailDead { message: String, agent: String },
    /// Two agents answer each other so fast that their conversation is slowed.
    MailThreadSlowed { thread: String, agents: Vec<String>, messages: u64 },
    /// Mail that was handled long ago was deleted.
    MailPurged {
        messages: u64,
        /// All deleted messages were handled before this time, in milliseconds since 1970.
        before_ms: u64,
    },
    /// An agent registered for the first time.
    MailAgentRegistered { agent: String },
    /// An agent has another name.
    MailAgentRenamed { from: String, to: String },
    /// An agent was removed.
    MailAgentForgotten {
        agent: String,
        /// The number of messages that waited for it. Their senders got reports.
        waiting: u64,
    },
}

impl Event for Record {}

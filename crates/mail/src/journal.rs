//! The journal's records of mail.

use project::journal::{Entry, Event};
use serde::Serialize;
use serde_json::Value;

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

/// Describes a notable entry of the journal; `None` for others.
pub fn describe(entry: &Entry) -> Option<String> {
    let field = |name: &str| entry.fields.get(name).and_then(Value::as_str).unwrap_or_default();
    Some(match entry.record.as_str() {
        "mail_stored" => format!(
            "{} wrote a message to {}",
            field("from"),
            recipients(entry.fields.get("recipients").and_then(Value::as_u64).unwrap_or_default())
        ),
        "mail_dead" => format!("a message to {} was never confirmed", field("agent")),
        "mail_agent_registered" => format!("{} registered", field("agent")),
        "mail_agent_renamed" => format!("{} is now {}", field("from"), field("to")),
        "mail_thread_slowed" => "a conversation is slowed: two agents answer each other too fast".to_owned(),
        _ => return None,
    })
}

fn recipients(count: u64) -> String {
    format!("{count} {}", if count == 1 { "recipient" } else { "recipients" })
}

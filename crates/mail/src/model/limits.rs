//! Limits. A limit refuses and names itself; nothing is dropped silently.

use std::time::Duration;

/// The bounds of a space, kept by its store at every write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a message's text.
    pub body_bytes: usize,
    /// Bytes of a message's metadata as JSON.
    pub metadata_bytes: usize,
    /// Recipients of one message.
    pub recipients: usize,
    /// Recipients of one broadcast (`mail.broadcast_max`).
    pub broadcast_max: usize,
    /// Messages waiting in one mailbox.
    pub mailbox_messages: u64,
    /// Bytes of the messages waiting in one mailbox.
    pub mailbox_bytes: u64,
    /// Hand-outs without a confirmation after which a message is dead.
    pub attempts: u32,
    /// How long handled mail is kept.
    pub keep: Duration,
    /// How long a message waits before it rises one level.
    pub aging: Duration,
    /// How long a session may take to reconnect after its last connection ended.
    pub grace: Duration,
    /// The number of messages that two agents may exchange in a thread within five minutes before it is slowed
    /// (`mail.thread_max`); 0 for no bound.
    pub thread_max: u64,
    /// How long an agent counts as active after its last request if it has no lasting connection, or after another
    /// daemon has recorded it.
    pub active: Duration,
    /// Agents of a space.
    pub agents: u64,
    /// Groups of a space, and members of a group.
    pub groups: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes: 1 << 20,
            metadata_bytes: 64 << 10,
            recipients: 500,
            broadcast_max: 100,
            mailbox_messages: 10_000,
            mailbox_bytes: 256 << 20,
            attempts: 5,
            keep: Duration::from_secs(30 * 24 * 3600),
            aging: Duration::from_secs(600),
            grace: Duration::from_secs(30),
            thread_max: 20,
            active: Duration::from_secs(120),
            agents: 10_000,
            groups: 1_000,
        }
    }
}

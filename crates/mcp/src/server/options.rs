//! The options and limits of a connection, which the embedder sets, and how a connection ends.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Tap;
use crate::era::{Era, ResultForm};
use crate::tool::Caller;
use crate::wire::{DEFAULT_BATCH_LIMIT, DEFAULT_LINE_LIMIT};

/// The limits of a connection. Each holds per connection.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The longest line of input, in bytes; a longer request is answered with an error.
    pub line: usize,
    /// A hint for that error, which names the embedder's setting; empty for no hint.
    pub line_hint: &'static str,
    /// Calls that run at once; more wait.
    pub running: usize,
    /// Running calls that wait for something ([`Context::waits`](crate::tool::Context::waits)) or for a person, and do not
    /// count as running meanwhile; more do count.
    pub paused: usize,
    /// Calls that wait; at the limit the server stops reading until one has started.
    pub waiting: usize,
    /// Messages in a batch.
    pub batch: usize,
    /// Bytes of arguments of all waiting calls; a call beyond the limit is refused.
    pub waiting_bytes: usize,
    /// Bytes of output that wait for the peer to read; at the limit the server stops reading.
    pub output: usize,
    /// Notifications that wait to be written; more are refused.
    pub notifications: usize,
    /// Bytes of notifications that wait to be written; more are refused.
    pub notification_bytes: usize,
    /// Subscriptions that a client may hold open.
    pub subscriptions: usize,
    /// Resources that a client may watch, over all its subscriptions.
    pub watched: usize,
    /// The time for running calls to finish after input has ended or the server shuts down.
    pub grace: Duration,
    /// The timeout of a call; `None` for no limit. A call that exceeds it is cancelled and answered with an error.
    /// Waiting for a slot or for a person does not count, and a job has no limit.
    pub call: Option<Duration>,
    /// The time for which a cancelled call may continue before it is dropped.
    pub cancel_grace: Duration,
    /// The time for which a call may be silent before its client is notified that it still runs.
    pub heartbeat: Duration,
    /// The longest time that an answer waits for the peer to read its call's last progress.
    pub unread_progress: Duration,
    /// The time for which a peer may leave the last output unread before the connection is dropped.
    pub flush: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            line: DEFAULT_LINE_LIMIT,
            line_hint: "",
            running: 64,
            paused: 1024,
            waiting: 1024,
            batch: DEFAULT_BATCH_LIMIT,
            waiting_bytes: 64 << 20,
            output: 32 << 20,
            notifications: 1024,
            notification_bytes: 4 << 20,
            subscriptions: 64,
            watched: 1024,
            grace: Duration::from_secs(1),
            call: None,
            cancel_grace: Duration::from_secs(5),
            heartbeat: Duration::from_secs(10),
            unread_progress: Duration::from_millis(250),
            flush: Duration::from_secs(5),
        }
    }
}

/// Tells whether the peer has read everything that was written so far; `None` if that cannot be known.
pub type Drained = Box<dyn Fn() -> Option<bool> + Send + Sync>;

/// The options of one connection.
pub struct ConnectionOptions {
    /// The embedder's data on the peer; tools read it with [`Context::caller`](crate::tool::Context::caller).
    pub caller: Caller,
    /// The name of the peer, where several may connect: a question, a job or a long result of one principal is not
    /// accessible to another.
    pub principal: String,
    /// The limits.
    pub limits: Limits,
    /// Bytes of input that were read already and precede the reader's.
    pub initial: Vec<u8>,
    /// The revision of requests that name none, until a handshake sets it.
    pub assume: Era,
    /// The client's timeout for an answer, if the embedder knows it; otherwise the client's name decides.
    pub budget: Option<Duration>,
    /// The form of tool results for a client of this name (MCP `clientInfo`); the name is empty if the client gives none.
    pub result_form: fn(&str) -> ResultForm,
    /// Shuts this connection down when it turns true.
    pub shutdown: Option<watch::Receiver<bool>>,
    /// A tap that records every message.
    pub tap: Option<Tap>,
    /// Tells whether the peer has read everything; the transports of this crate set it.
    pub drained: Option<Drained>,
}

impl Default for ConnectionOptions {
    fn default() -> ConnectionOptions {
        ConnectionOptions {
            caller: Arc::new(()),
            principal: String::new(),
            limits: Limits::default(),
            initial: Vec::new(),
            assume: Era::LATEST_LEGACY,
            budget: None,
            result_form: |_| ResultForm::Both,
            shutdown: None,
            tap: None,
            drained: None,
        }
    }
}

#[cfg(feature = "http")]
impl ConnectionOptions {
    /// Returns the same options for another exchange of the same client.
    pub(crate) fn for_next_exchange(&self, shutdown: watch::Receiver<bool>) -> ConnectionOptions {
        ConnectionOptions {
            caller: self.caller.clone(),
            principal: self.principal.clone(),
            limits: self.limits.clone(),
            initial: Vec::new(),
            assume: self.assume,
            budget: self.budget,
            result_form: self.result_form,
            shutdown: Some(shutdown),
            tap: self.tap.clone(),
            drained: None,
        }
    }
}

impl fmt::Debug for ConnectionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionOptions").field("limits", &self.limits).field("assume", &self.assume).finish()
    }
}

/// The reason for the end of a connection.
#[derive(Debug)]
pub enum End {
    /// Its input ended; every call that could be answered was.
    Input,
    /// The server, or this connection, was asked to shut down.
    Shutdown,
    /// The peer stopped reading, or writing to it failed.
    PeerGone(io::Error),
}

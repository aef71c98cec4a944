//! What an embedder may decide about a server and its connections, and how a connection ends.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Tap;
use crate::era::Era;
use crate::tool::Caller;
use crate::wire::{DEFAULT_BATCH_LIMIT, DEFAULT_LINE_LIMIT};

/// What a connection may use. Each limit holds per connection.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The longest line of input, in bytes. A longer request is answered with an error.
    pub line: usize,
    /// What to do about a longer line, for the error: names the embedding program's setting. Empty for nothing.
    pub line_hint: &'static str,
    /// How many calls run at once; more wait.
    pub running: usize,
    /// How many calls wait; with more the server stops reading until one has started.
    pub waiting: usize,
    /// How many messages a batch may have.
    pub batch: usize,
    /// How many bytes the arguments of waiting calls hold; a call beyond that is refused.
    pub waiting_bytes: usize,
    /// How many bytes of output wait for the peer to read; with more the server stops reading.
    pub output: usize,
    /// How many notifications wait to be written; more are refused.
    pub notifications: usize,
    /// How many bytes of notifications wait to be written; more are refused.
    pub notification_bytes: usize,
    /// How many subscriptions a client may hold open.
    pub subscriptions: usize,
    /// How many resources a client may watch, over all its subscriptions.
    pub watched: usize,
    /// How long running calls have to finish once input has ended or the server shuts down.
    pub grace: Duration,
    /// How long a call may run, if there is a limit: a longer one is cancelled and answered with an error. Waiting for a
    /// slot or for a person does not count, and what has become a job goes on.
    pub call: Option<Duration>,
    /// How long a cancelled call may go on before it is dropped.
    pub cancel_grace: Duration,
    /// How long a held call may be silent before its client hears that it still runs.
    pub heartbeat: Duration,
    /// How long an answer waits, at most, for the peer to read its call's last progress, so that they come apart.
    pub unread_progress: Duration,
    /// How long a peer may leave the last output unread before it is given up.
    pub flush: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            line: DEFAULT_LINE_LIMIT,
            line_hint: "",
            running: 64,
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

/// What an embedder decides about one connection.
pub struct ConnectionOptions {
    /// Who is at the other end; tools read it back with [`Context::caller`](crate::tool::Context::caller).
    pub caller: Caller,
    /// The name of who is at the other end, where several may connect: a question that was put to one is not answered
    /// by another.
    pub principal: String,
    /// What the connection may use.
    pub limits: Limits,
    /// Bytes of input that were already read, ahead of what the reader gives.
    pub initial: Vec<u8>,
    /// The revision of requests that name none, before any handshake.
    pub assume: Era,
    /// How long the client waits for an answer, if the embedder knows better than the client's name tells.
    pub budget: Option<Duration>,
    /// Ends this connection in good order when it turns true.
    pub shutdown: Option<watch::Receiver<bool>>,
    /// Where everything that is said goes, too.
    pub tap: Option<Tap>,
    /// Whether the peer has read everything; the transports of this crate set it.
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
            shutdown: None,
            tap: None,
            drained: None,
        }
    }
}

#[cfg(feature = "http")]
impl ConnectionOptions {
    /// The same for one more exchange of the same client.
    pub(crate) fn again(&self, shutdown: watch::Receiver<bool>) -> ConnectionOptions {
        ConnectionOptions {
            caller: self.caller.clone(),
            principal: self.principal.clone(),
            limits: self.limits.clone(),
            initial: Vec::new(),
            assume: self.assume,
            budget: self.budget,
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

/// How a connection ended.
#[derive(Debug)]
pub enum End {
    /// Its input ended; everything that could be answered was.
    Input,
    /// The server, or this connection, was told to shut down.
    Shutdown,
    /// The peer stopped reading, or writing to it failed.
    PeerGone(io::Error),
}

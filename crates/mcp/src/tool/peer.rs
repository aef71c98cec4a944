//! The connection as a call sees it. The server implements it for its connections, and tests may.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};

use super::{Answers, Ask, AskError, LogLevel, NamedAsk, Progress};

/// Why a notification was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    /// The connection has ended.
    #[error("the connection has ended")]
    Closed,
    /// The peer reads too slowly: the queue is full, and the notification was dropped.
    #[error("the peer reads too slowly: the notification queue is full")]
    Full,
}

/// The connection as a call sees it. The server's connection implements it, and tests may. No method blocks.
pub trait Peer: Send + Sync {
    /// Queues a notification on the connection.
    fn notify(&self, method: &str, params: Box<RawValue>) -> Result<(), NotifyError>;
    /// Queues progress under the call's token; the latest report wins.
    fn progress(&self, progress: Progress);
    /// Returns true if reports of progress go anywhere now; not by default.
    fn wants_progress(&self) -> bool {
        false
    }
    /// Queues a log message if the client asked for that level.
    fn log(&self, level: LogLevel, logger: &str, data: Box<RawValue>);
    /// Asks questions; unsupported by default.
    fn ask(&self, asks: Vec<(String, Ask)>) -> Result<oneshot::Receiver<Result<Answers, AskError>>, AskError> {
        let _ = asks;
        Err(AskError::Unsupported)
    }
    /// Asks a question under a separate name; as [`Peer::ask`] by default.
    fn ask_as(
        &self,
        named: NamedAsk,
        asks: Vec<(String, Ask)>,
    ) -> Result<oneshot::Receiver<Result<Answers, AskError>>, AskError> {
        let _ = named;
        self.ask(asks)
    }
    /// The call begins to wait for something: it takes no slot of its connection until the matching [`Peer::end_wait`].
    /// Waits may be nested. Does nothing by default.
    fn begin_wait(&self) {}
    /// A wait of the call has ended.
    fn end_wait(&self) {}
    /// Returns true if the client itself can be asked this; not by default.
    fn can_ask(&self, ask: &Ask) -> bool {
        let _ = ask;
        false
    }
    /// Returns the principal that calls.
    fn principal(&self) -> Arc<str> {
        Arc::from("")
    }
    /// Records an effect of the call.
    fn effect(&self, what: String) {
        let _ = what;
    }
    /// Lets the client close its stream and reconnect after a while; does nothing by default.
    fn reconnect_after(&self, after: Duration) {
        let _ = after;
    }
    /// Lists the unlisted tools of a group on this connection; does nothing by default.
    fn list_more(&self, group: &str) {
        let _ = group;
    }
    /// Turns true once the connection has ended.
    fn closed(&self) -> watch::Receiver<bool>;
}

/// A wait of a call; dropping it ends the wait.
pub(super) struct Wait<'a>(&'a dyn Peer);

impl<'a> Wait<'a> {
    pub(super) fn begin(peer: &'a dyn Peer) -> Wait<'a> {
        peer.begin_wait();
        Wait(peer)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0.end_wait();
    }
}

/// The end of a call without a connection.
pub(super) struct NoPeer;

impl Peer for NoPeer {
    fn notify(&self, _: &str, _: Box<RawValue>) -> Result<(), NotifyError> {
        Err(NotifyError::Closed)
    }
    fn progress(&self, _: Progress) {}
    fn log(&self, _: LogLevel, _: &str, _: Box<RawValue>) {}
    fn closed(&self) -> watch::Receiver<bool> {
        watch::channel(true).1
    }
}

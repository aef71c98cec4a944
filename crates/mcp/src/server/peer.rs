//! The connection as one call sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::value::RawValue;
use tokio::sync::watch;

use super::calls::Key;
use super::mailbox::Mailbox;
use crate::tool::{LogLevel, NotifyError, Peer, Progress};
use crate::wire::build::{push_json, push_string};

pub(super) struct CallPeer {
    pub mailbox: Arc<Mailbox>,
    pub call: Key,
    /// Whether the client gave a progress token.
    pub wants_progress: bool,
    pub log: LogPolicy,
    /// The call is answered or cancelled: nothing of its own may follow.
    pub over: AtomicBool,
}

/// Which log messages a call's client wants.
pub(super) enum LogPolicy {
    /// What it set for the connection (handshake eras).
    Connection,
    /// What it asked for with this request, or nothing.
    Request(Option<LogLevel>),
}

impl CallPeer {
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Peer for CallPeer {
    fn notify(&self, method: &str, params: Box<RawValue>) -> Result<(), NotifyError> {
        self.mailbox.notify(method, params.get())
    }

    fn progress(&self, progress: Progress) {
        if self.wants_progress && !self.over.load(Ordering::Relaxed) {
            self.mailbox.progress(self.call, progress);
        }
    }

    fn log(&self, level: LogLevel, logger: &str, data: Box<RawValue>) {
        let wanted = match self.log {
            LogPolicy::Connection => level as u8 >= self.mailbox.level(),
            LogPolicy::Request(threshold) => threshold.is_some_and(|threshold| level >= threshold),
        };
        if !wanted || self.over.load(Ordering::Relaxed) {
            return;
        }
        let mut params = b"{\"level\":\"".to_vec();
        params.extend_from_slice(level.name().as_bytes());
        params.extend_from_slice(b"\",\"logger\":");
        push_string(&mut params, logger);
        params.extend_from_slice(b",\"data\":");
        push_json(&mut params, data.get());
        params.push(b'}');
        let params = String::from_utf8(params).unwrap_or_default();
        if let Err(error) = self.mailbox.notify("notifications/message", &params) {
            tracing::debug!(%error, logger, "a log message did not reach the client");
        }
    }

    fn closed(&self) -> watch::Receiver<bool> {
        self.mailbox.closed()
    }
}

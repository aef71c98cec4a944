//! The connection as one call sees it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};

use super::calls::{Key, Reply};
use super::mailbox::{Asking, Mailbox};
use crate::tool::{Answers, Ask, AskError, LogLevel, NotifyError, Peer, Progress};
use crate::wire::build::{push_json, push_string};

pub(super) struct CallPeer {
    /// Where the call's client is: a call that asked may be answered on another connection.
    route: Mutex<Route>,
    /// The call is answered or cancelled: nothing of its own may follow.
    over: AtomicBool,
    /// What the call says it has done.
    effects: Mutex<Vec<String>>,
}

pub(super) struct Route {
    pub mailbox: Arc<Mailbox>,
    pub call: Key,
    /// Whether the client gave a progress token.
    pub wants_progress: bool,
    pub log: LogPolicy,
    /// Nobody waits for the call just now: it is between two requests.
    pub parked: bool,
    /// What it came to in that time.
    pub done: Option<Reply>,
}

/// Which log messages a call's client wants.
#[derive(Clone, Copy)]
pub(super) enum LogPolicy {
    /// What it set for the connection (handshake eras).
    Connection,
    /// What it asked for with this request, or nothing.
    Request(Option<LogLevel>),
}

impl CallPeer {
    pub(super) fn new(route: Route) -> CallPeer {
        CallPeer { route: Mutex::new(route), over: AtomicBool::new(false), effects: Mutex::default() }
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// The call is done.
    pub(super) fn finish(&self, reply: Reply) {
        let mut route = self.route();
        if route.parked {
            route.done = Some(reply);
            return;
        }
        let (mailbox, call) = (route.mailbox.clone(), route.call);
        drop(route);
        mailbox.finish(call, reply);
    }

    /// Nobody waits for the call until it is [sent on](CallPeer::send_to).
    pub(super) fn park(&self) {
        self.route().parked = true;
    }

    /// Another request waits for the call. Gives what it came to meanwhile.
    pub(super) fn send_to(&self, next: Route) -> Option<Reply> {
        let mut route = self.route();
        let done = route.done.take();
        // What is left of the old one may be the last of a mailbox: not dropped under the lock.
        let former = std::mem::replace(&mut *route, next);
        drop(route);
        drop(former);
        done
    }

    /// What the call says it has done so far.
    pub(super) fn effects(&self) -> String {
        let effects = self.effects.lock().unwrap_or_else(PoisonError::into_inner);
        if effects.is_empty() { "none".to_owned() } else { effects.join("; ") }
    }

    pub(super) fn log(&self) -> LogPolicy {
        self.route().log
    }

    fn route(&self) -> MutexGuard<'_, Route> {
        self.route.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mailbox(&self) -> Arc<Mailbox> {
        self.route().mailbox.clone()
    }
}

impl Peer for CallPeer {
    fn notify(&self, method: &str, params: Box<RawValue>) -> Result<(), NotifyError> {
        self.mailbox().notify(method, params.get())
    }

    fn progress(&self, progress: Progress) {
        let route = self.route();
        if route.wants_progress && !route.parked && !self.over.load(Ordering::Relaxed) {
            let (mailbox, call) = (route.mailbox.clone(), route.call);
            drop(route);
            mailbox.progress(call, progress);
        }
    }

    fn ask(&self, asks: Vec<(String, Ask)>) -> Result<oneshot::Receiver<Result<Answers, AskError>>, AskError> {
        let route = self.route();
        if route.parked {
            return Err(AskError::Busy);
        }
        if self.over.load(Ordering::Relaxed) {
            return Err(AskError::Unanswered);
        }
        let (answer, answered) = oneshot::channel();
        let (mailbox, call) = (route.mailbox.clone(), route.call);
        drop(route);
        mailbox.ask(call, Asking { asks, answer });
        Ok(answered)
    }

    fn effect(&self, what: String) {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    fn log(&self, level: LogLevel, logger: &str, data: Box<RawValue>) {
        let (mailbox, policy, parked) = {
            let route = self.route();
            (route.mailbox.clone(), route.log, route.parked)
        };
        let wanted = match policy {
            LogPolicy::Connection => level as u8 >= mailbox.level(),
            LogPolicy::Request(threshold) => threshold.is_some_and(|threshold| level >= threshold),
        };
        if !wanted || parked || self.over.load(Ordering::Relaxed) {
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
        if let Err(error) = mailbox.notify("notifications/message", &params) {
            tracing::debug!(%error, logger, "a log message did not reach the client");
        }
    }

    fn closed(&self) -> watch::Receiver<bool> {
        self.mailbox().closed()
    }
}

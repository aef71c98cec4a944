//! The connection as one call sees it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};

use super::calls::{Key, Reply};
use super::jobs::Job;
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
    /// Whose the call is.
    pub principal: Arc<str>,
    pub waits: Waits,
}

/// Who waits for a call.
pub(super) enum Waits {
    /// The request it came with.
    Request,
    /// Nobody just now: it is between two requests. It may come to something in that time.
    Nobody(Option<Reply>),
    /// Whoever looks after it.
    Job(Arc<Job>),
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
        match &mut route.waits {
            // Under the lock: whoever parks the call must find this in the mailbox.
            Waits::Request => route.mailbox.finish(route.call, reply),
            Waits::Nobody(done) => *done = Some(reply),
            Waits::Job(job) => {
                let job = job.clone();
                drop(route);
                job.finish(reply);
            }
        }
    }

    /// Nobody waits for the call until it is [sent on](CallPeer::send_to).
    pub(super) fn park(&self) {
        self.route().waits = Waits::Nobody(None);
    }

    /// From here on the call is a job.
    pub(super) fn become_job(&self, job: Arc<Job>) {
        self.route().waits = Waits::Job(job);
    }

    /// The job that the call is.
    pub(super) fn job(&self) -> Option<Arc<Job>> {
        match &self.route().waits {
            Waits::Job(job) => Some(job.clone()),
            Waits::Request | Waits::Nobody(_) => None,
        }
    }

    /// Another request waits for the call. Gives what it came to meanwhile.
    pub(super) fn send_to(&self, next: Route) -> Option<Reply> {
        let mut route = self.route();
        // What is left of the old one may be the last of a mailbox: not dropped under the lock.
        let former = std::mem::replace(&mut *route, next);
        drop(route);
        match former.waits {
            Waits::Nobody(done) => done,
            Waits::Request | Waits::Job(_) => None,
        }
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
        match &route.waits {
            Waits::Request if route.wants_progress && !self.over.load(Ordering::Relaxed) => {
                route.mailbox.progress(route.call, progress);
            }
            Waits::Job(job) => {
                let job = job.clone();
                drop(route);
                job.progress(progress);
            }
            Waits::Request | Waits::Nobody(_) => {}
        }
    }

    fn ask(&self, asks: Vec<(String, Ask)>) -> Result<oneshot::Receiver<Result<Answers, AskError>>, AskError> {
        let route = self.route();
        let (answer, answered) = oneshot::channel();
        let asking = Asking { asks, answer };
        match &route.waits {
            Waits::Nobody(_) => return Err(AskError::Busy),
            Waits::Job(job) => {
                let job = job.clone();
                drop(route);
                job.ask(asking);
            }
            Waits::Request if self.over.load(Ordering::Relaxed) => return Err(AskError::Unanswered),
            Waits::Request => route.mailbox.ask(route.call, asking),
        }
        Ok(answered)
    }

    fn principal(&self) -> Arc<str> {
        self.route().principal.clone()
    }

    fn effect(&self, what: String) {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    fn log(&self, level: LogLevel, logger: &str, data: Box<RawValue>) {
        let (mailbox, policy, waited_for) = {
            let route = self.route();
            (route.mailbox.clone(), route.log, matches!(route.waits, Waits::Request))
        };
        let wanted = match policy {
            LogPolicy::Connection => level as u8 >= mailbox.level(),
            LogPolicy::Request(threshold) => threshold.is_some_and(|threshold| level >= threshold),
        };
        if !wanted || !waited_for || self.over.load(Ordering::Relaxed) {
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

    fn come_back(&self, after: Duration) {
        let route = self.route();
        if matches!(route.waits, Waits::Request) && !self.over.load(Ordering::Relaxed) {
            route.mailbox.come_back(after);
        }
    }

    fn closed(&self) -> watch::Receiver<bool> {
        self.mailbox().closed()
    }
}

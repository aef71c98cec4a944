//! The connection as one call sees it: the server's [`Peer`].

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};

use super::announcements::json_text;
use super::calls::{Key, Reply};
use super::jobs::Job;
use super::side_channel::{PendingAsk, SideChannel};
use crate::era::Era;
use crate::era::ask::ClientCapabilities;
use crate::tool::{Answers, Ask, AskError, LogLevel, NamedAsk, NotifyError, Peer, Progress};

pub(super) struct CallPeer {
    /// The way to the call's client, which may change: a suspended call may be resumed on another connection.
    route: Mutex<Route>,
    /// True if the call is answered or cancelled: no progress or log may follow.
    over: AtomicBool,
    /// The effects that the call reported.
    effects: Mutex<Vec<String>>,
}

pub(super) struct Route {
    pub side_channel: Arc<SideChannel>,
    pub call: Key,
    /// True if the client gave a progress token.
    pub wants_progress: bool,
    pub log: LogPolicy,
    /// The kinds of questions that the client supports in this call, and their revision.
    pub can: Option<(Era, ClientCapabilities)>,
    /// The principal that the call belongs to.
    pub principal: Arc<str>,
    pub recipient: Recipient,
    /// Its waits that have begun and not ended, and whether it takes a slot of the connection, or would without them.
    pub slot: Slot,
}

/// A call's slot among those that run on its connection.
#[derive(Default)]
pub(super) struct Slot {
    waits: u32,
    is_taken: bool,
    /// True if the connection counts it as paused.
    is_paused: bool,
}

/// The recipient of a call's result.
pub(super) enum Recipient {
    /// The request that it came with.
    Request,
    /// Nothing: the call is suspended between two requests. Holds its result if it finishes meanwhile.
    Suspended(Option<Reply>),
    /// The job that the call has become.
    Job(Arc<Job>),
}

/// The log messages that a call's client wants.
#[derive(Clone, Copy)]
pub(super) enum LogPolicy {
    /// The level that the client set for the connection (handshake eras).
    Connection,
    /// The level that the client asked for with this request, or none.
    Request(Option<LogLevel>),
}

/// The parameters of `notifications/message`.
#[derive(Serialize)]
struct LogMessage<'a> {
    level: &'static str,
    logger: &'a str,
    data: &'a RawValue,
}

impl CallPeer {
    pub(super) fn new(route: Route) -> CallPeer {
        CallPeer { route: Mutex::new(route), over: AtomicBool::new(false), effects: Mutex::default() }
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Marks the call as running, beyond its first poll.
    pub(super) fn take_slot(&self) {
        self.route().take_slot();
    }

    /// Removes the call from those that run.
    pub(super) fn leave_slot(&self) {
        self.route().leave_slot();
    }

    /// Hands the call's result to its recipient.
    pub(super) fn finish(&self, reply: Reply) {
        let mut route = self.route();
        route.leave_slot();
        match &mut route.recipient {
            // Under the lock, so that the connection finds the reply in the side channel before it suspends the call.
            Recipient::Request => route.side_channel.finish(route.call, reply),
            Recipient::Suspended(done) => *done = Some(reply),
            Recipient::Job(job) => {
                let job = job.clone();
                drop(route);
                job.finish(reply);
            }
        }
    }

    /// Sets the kinds of questions that this call may ask the client.
    pub(super) fn may_ask(&self, era: Era, can: ClientCapabilities) {
        self.route().can = Some((era, can));
    }

    /// Marks the call as suspended until it is [rerouted](CallPeer::reroute).
    pub(super) fn suspend(&self) {
        let mut route = self.route();
        route.leave_slot();
        route.recipient = Recipient::Suspended(None);
    }

    /// Marks the call as a job.
    pub(super) fn become_job(&self, job: Arc<Job>) {
        let mut route = self.route();
        route.leave_slot();
        route.recipient = Recipient::Job(job);
    }

    /// Returns the job that the call has become.
    pub(super) fn job(&self) -> Option<Arc<Job>> {
        match &self.route().recipient {
            Recipient::Job(job) => Some(job.clone()),
            Recipient::Request | Recipient::Suspended(_) => None,
        }
    }

    /// Routes the call to another request; returns its result if it finished meanwhile.
    pub(super) fn reroute(&self, next: Route) -> Option<Reply> {
        let mut route = self.route();
        // The old route may hold the last handle of a side channel, so it is dropped outside of the lock.
        let former = std::mem::replace(&mut *route, next);
        route.slot.waits = former.slot.waits;
        route.take_slot();
        drop(route);
        match former.recipient {
            Recipient::Suspended(done) => done,
            Recipient::Request | Recipient::Job(_) => None,
        }
    }

    /// Returns the effects that the call reported so far, as text.
    pub(super) fn effects(&self) -> String {
        let effects = self.effects.lock();
        if effects.is_empty() { "none".to_owned() } else { effects.join("; ") }
    }

    pub(super) fn log(&self) -> LogPolicy {
        self.route().log
    }

    /// Sends questions to the connection, or to the job that the call has become.
    fn send_asks(
        &self,
        asks: Vec<(String, Ask)>,
        named: Option<NamedAsk>,
    ) -> Result<oneshot::Receiver<Result<Answers, AskError>>, AskError> {
        let route = self.route();
        let (answer, answered) = oneshot::channel();
        let asking = PendingAsk { asks, named, answer };
        match &route.recipient {
            Recipient::Suspended(_) => return Err(AskError::Busy),
            Recipient::Job(job) => {
                let job = job.clone();
                drop(route);
                job.ask(asking);
            }
            Recipient::Request if self.over.load(Ordering::Relaxed) => return Err(AskError::Unanswered),
            Recipient::Request => route.side_channel.ask(route.call, asking),
        }
        Ok(answered)
    }

    fn route(&self) -> MutexGuard<'_, Route> {
        self.route.lock()
    }

    fn side_channel(&self) -> Arc<SideChannel> {
        self.route().side_channel.clone()
    }
}

impl Route {
    fn take_slot(&mut self) {
        self.slot.is_taken = true;
        self.pause();
    }

    fn leave_slot(&mut self) {
        self.slot.is_taken = false;
        self.unpause();
    }

    fn pause(&mut self) {
        if self.slot.waits > 0 && self.slot.is_taken && !self.slot.is_paused {
            self.slot.is_paused = self.side_channel.pause();
        }
    }

    fn unpause(&mut self) {
        if std::mem::take(&mut self.slot.is_paused) {
            self.side_channel.unpause();
        }
    }
}

impl Peer for CallPeer {
    fn notify(&self, method: &str, params: Box<RawValue>) -> Result<(), NotifyError> {
        self.side_channel().notify(method, params.get())
    }

    fn wants_progress(&self) -> bool {
        let route = self.route();
        route.wants_progress || matches!(route.recipient, Recipient::Job(_))
    }

    fn progress(&self, progress: Progress) {
        let route = self.route();
        match &route.recipient {
            Recipient::Request if route.wants_progress && !self.over.load(Ordering::Relaxed) => {
                route.side_channel.progress(route.call, progress);
            }
            Recipient::Job(job) => {
                let job = job.clone();
                drop(route);
                job.progress(progress);
            }
            Recipient::Request | Recipient::Suspended(_) => {}
        }
    }

    fn ask(&self, asks: Vec<(String, Ask)>) -> Result<oneshot::Receiver<Result<Answers, AskError>>, AskError> {
        self.send_asks(asks, None)
    }

    fn ask_as(
        &self,
        named: NamedAsk,
        asks: Vec<(String, Ask)>,
    ) -> Result<oneshot::Receiver<Result<Answers, AskError>>, AskError> {
        self.send_asks(asks, Some(named))
    }

    fn begin_wait(&self) {
        let mut route = self.route();
        route.slot.waits += 1;
        route.pause();
    }

    fn end_wait(&self) {
        let mut route = self.route();
        route.slot.waits = route.slot.waits.saturating_sub(1);
        if route.slot.waits == 0 {
            route.unpause();
        }
    }

    fn can_ask(&self, ask: &Ask) -> bool {
        let route = self.route();
        match &route.recipient {
            Recipient::Job(job) => job.can_ask(ask),
            Recipient::Request | Recipient::Suspended(_) => route.can.is_some_and(|(era, can)| can.cover(era, ask)),
        }
    }

    fn principal(&self) -> Arc<str> {
        self.route().principal.clone()
    }

    fn effect(&self, what: String) {
        self.effects.lock().push(what);
    }

    fn log(&self, level: LogLevel, logger: &str, data: Box<RawValue>) {
        let (side_channel, policy, waited_for) = {
            let route = self.route();
            (route.side_channel.clone(), route.log, matches!(route.recipient, Recipient::Request))
        };
        let wanted = match policy {
            LogPolicy::Connection => level as u8 >= side_channel.level(),
            LogPolicy::Request(threshold) => threshold.is_some_and(|threshold| level >= threshold),
        };
        if !wanted || !waited_for || self.over.load(Ordering::Relaxed) {
            return;
        }
        let params = json_text(&LogMessage { level: level.name(), logger, data: &data });
        if let Err(error) = side_channel.notify("notifications/message", &params) {
            tracing::debug!(%error, logger, "a log message did not reach the client");
        }
    }

    fn reconnect_after(&self, after: Duration) {
        let route = self.route();
        if matches!(route.recipient, Recipient::Request) && !self.over.load(Ordering::Relaxed) {
            route.side_channel.reconnect_after(after);
        }
    }

    fn list_more(&self, group: &str) {
        self.side_channel().list_more(group);
    }

    fn closed(&self) -> watch::Receiver<bool> {
        self.side_channel().closed()
    }
}

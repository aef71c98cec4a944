//! One connection's protocol state: takes lines and [`Inbound`](super::side_channel::Inbound), gives output, without
//! I/O or waiting. `methods.rs` serves the methods, `answers.rs` writes progress and answers.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::answer_delay::HeldAnswers;
use super::batch::Batch;
use super::calls::{Call, Calls, Key, Reply, State};
use super::client_info::ClientInfo;
use super::client_questions::OpenQuestions;
use super::io::Output;
use super::log_throttle::LogThrottle;
use super::side_channel::SideChannel;
use super::{ConnectionOptions, Drained, Limits, Shared, Tap};
use crate::era::ask::ClientCapabilities;
use crate::era::{Era, ResultForm};
use crate::tool::{Caller, Client, Progress};
use crate::wire::build::{self, RpcError};
use crate::wire::{Envelope, Frame, Id, Json, Message, TooLong, code};

/// While more output than this is unwritten, output that can be merged (progress, announcements) is held back.
const SOFT_OUTPUT: usize = 256 << 10;

pub(super) struct ConnectionState {
    pub shared: Arc<Shared>,
    pub caller: Caller,
    pub principal: Arc<str>,
    pub limits: Limits,
    pub side_channel: Arc<SideChannel>,
    pub out: Output,
    pub calls: Calls,
    pub held: HeldAnswers,
    drained: Option<Drained>,
    tap: Option<Tap>,
    next_key: u64,

    /// The revision of requests that name none.
    pub era: Era,
    /// The form of tool results for requests that do not name their client.
    pub form: ResultForm,
    pub result_form_for: fn(&str) -> ResultForm,
    /// The kinds of questions that the client of the handshake supports.
    pub can: ClientCapabilities,
    /// Questions that the client received as requests (handshake revisions).
    pub questions: OpenQuestions,
    /// True if the client has announced the end of the handshake.
    pub initialized: bool,
    /// The client of the handshake, and the latest `clientInfo` that came with a request.
    pub client: Option<Arc<Client>>,
    pub latest_client: Option<ClientInfo>,
    /// The client's timeout for an answer; the embedder's value takes precedence over the handshake's.
    pub budget: Option<Duration>,
    pub budget_is_fixed: bool,
    pub subscriptions: Vec<Subscription>,
    /// The resources that the client subscribed to (handshake revisions).
    pub subscribed_resources: HashSet<String>,
    pub batches: HashMap<u64, Batch>,

    /// The delay after which the client should reconnect, for transports that can close its stream.
    pub reconnect_after: Option<Duration>,

    /// The latest progress of calls, if it is not written yet.
    pub progress: HashMap<Key, Progress>,
    /// Notifications in the output: the offset where they end, their number and their bytes.
    notified: VecDeque<(u64, usize, usize)>,
    /// Changed lists that are not announced yet.
    pub changed: BTreeSet<ListKind>,
    /// Changed resources that are not announced yet.
    pub updated: BTreeSet<String>,
    /// Changed tasks that are not announced yet.
    pub tasks_changed: BTreeSet<String>,
    /// The earliest time of the next heartbeat.
    pub heartbeat_at: Option<Instant>,
    /// The earliest time at which a call becomes a job.
    pub job_at: Option<Instant>,
    /// The earliest time at which a call times out.
    pub timeout_at: Option<Instant>,
    /// The earliest time at which a cancelled call is dropped.
    expire_at: Option<Instant>,
    ignored_log: LogThrottle,
}

/// A list whose changes are announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListKind {
    Tools,
    Resources,
    Prompts,
}

impl ListKind {
    pub(super) fn changed(self) -> &'static str {
        match self {
            ListKind::Tools => "notifications/tools/list_changed",
            ListKind::Resources => "notifications/resources/list_changed",
            ListKind::Prompts => "notifications/prompts/list_changed",
        }
    }
}

/// An open `subscriptions/listen`.
pub(super) struct Subscription {
    pub id: Id,
    pub lists: Vec<ListKind>,
    /// The URIs of resources.
    pub uris: Vec<String>,
    pub tasks: Vec<String>,
}

impl Subscription {
    pub(super) fn is_subscribed(&self, uri: &str) -> bool {
        self.uris.iter().any(|wanted| wanted == uri)
    }
}

impl ConnectionState {
    pub(super) fn new(shared: Arc<Shared>, options: ConnectionOptions) -> ConnectionState {
        shared.begin_to_serve();
        ConnectionState {
            shared,
            caller: options.caller,
            principal: options.principal.into(),
            side_channel: Arc::new(SideChannel::new(&options.limits)),
            held: HeldAnswers::new(options.limits.unread_progress),
            limits: options.limits,
            out: Output::default(),
            calls: Calls::default(),
            drained: options.drained,
            tap: options.tap,
            next_key: 0,
            era: options.assume,
            form: (options.result_form)(""),
            result_form_for: options.result_form,
            can: ClientCapabilities::default(),
            questions: OpenQuestions::default(),
            client: None,
            latest_client: None,
            initialized: false,
            budget: options.budget,
            budget_is_fixed: options.budget.is_some(),
            subscriptions: Vec::new(),
            subscribed_resources: HashSet::new(),
            batches: HashMap::new(),
            reconnect_after: None,
            progress: HashMap::new(),
            notified: VecDeque::new(),
            changed: BTreeSet::new(),
            updated: BTreeSet::new(),
            tasks_changed: BTreeSet::new(),
            heartbeat_at: None,
            job_at: None,
            timeout_at: None,
            expire_at: None,
            ignored_log: LogThrottle::default(),
        }
    }

    /// Returns true if another message may be taken.
    pub(super) fn has_room(&self) -> bool {
        let batched: usize = self.batches.values().map(|batch| batch.body.len()).sum();
        self.calls.waiting() < self.limits.waiting && self.has_output_room() && batched < self.limits.output
    }

    fn has_output_room(&self) -> bool {
        self.out.pending() + self.held.bytes() < self.limits.output
    }

    /// Returns true if the peer keeps up with the output.
    pub(super) fn peer_keeps_up(&self) -> bool {
        self.out.pending() < SOFT_OUTPUT
    }

    pub(super) fn take_frame(&mut self, frame: Frame<'_>) {
        if let Some(tap) = &self.tap {
            match &frame {
                Frame::Line(line) => tap.line('>', line),
                Frame::TooLong(TooLong { bytes, .. }) => tap.line('>', format!("(a line of {bytes} bytes)").as_bytes()),
            }
        }
        match frame {
            Frame::Line(line) => match Envelope::classify(line) {
                Ok(Message::Batch(items)) => self.take_batch(&items),
                Ok(message) => self.take_message(message, None),
                Err(unreadable) => self.ignored_log.log(unreadable.0, line),
            },
            Frame::TooLong(TooLong { bytes, id: Some(id), method: true }) => {
                let limit = self.limits.line;
                let mut message = format!("the message has {bytes} bytes, more than the limit of {limit}");
                if !self.limits.line_hint.is_empty() {
                    message.push_str("; ");
                    message.push_str(self.limits.line_hint);
                }
                self.refuse(None, Some(&id), &RpcError::new(code::INVALID_REQUEST, message));
            }
            Frame::TooLong(TooLong { bytes, .. }) => {
                tracing::warn!(bytes, limit = self.limits.line, "a line over the limit was ignored");
            }
        }
    }

    pub(super) fn take_message(&mut self, message: Message<'_>, batch: Option<u64>) {
        match message {
            Message::Request { id, method, params } => self.request(id, &method, params, batch),
            Message::Notification { method, params } => self.notification(&method, params),
            Message::Response { id, outcome } => {
                if !id.as_ref().is_some_and(|id| self.answered(id, outcome))
                    && let Some(unlogged) = self.ignored_log.unlogged()
                {
                    tracing::warn!(?id, unlogged, "the client answered a request that the server never sent");
                }
            }
            Message::Invalid { id, reason } => {
                self.batch_joined(batch);
                self.refuse(batch, id.as_ref(), &RpcError::new(code::INVALID_REQUEST, reason));
            }
            Message::Batch(_) => {
                self.batch_joined(batch);
                self.refuse(batch, None, &RpcError::new(code::INVALID_REQUEST, "a batch must not contain a batch"));
            }
        }
    }

    /// Writes one answer, a whole line, to the output or to its batch.
    pub(super) fn emit(&mut self, batch: Option<u64>, write: impl FnOnce(&mut Vec<u8>, &Shared)) {
        let Some(open) = batch.and_then(|batch| self.batches.get_mut(&batch)) else {
            return write(self.out.bytes(), &self.shared);
        };
        if !open.body.is_empty() {
            open.body.push(b',');
        }
        write(&mut open.body, &self.shared);
        // Drops the line end.
        open.body.pop();
        self.batch_answered(batch);
    }

    pub(super) fn refuse(&mut self, batch: Option<u64>, id: Option<&Id>, error: &RpcError) {
        self.emit(batch, |out, _| build::error(out, id, error));
    }

    pub(super) fn new_key(&mut self) -> Key {
        self.next_key += 1;
        Key(self.next_key)
    }

    /// Starts a call, or queues it for a slot.
    pub(super) fn admit(&mut self, key: Key, mut call: Call, input: Option<Json<'_>>) {
        self.schedule_heartbeat(&call);
        if self.calls.waiting() == 0 && self.has_slot() {
            return self.start(key, call, input.map(Json::raw));
        }
        call.state = State::Waiting(input.map(|input| input.raw().to_owned()));
        let limit = self.limits.waiting_bytes;
        if self.calls.waiting_bytes() + call.bytes() > limit {
            let error = RpcError::new(code::INTERNAL, format!("too many calls wait: over {limit} bytes of arguments"))
                .with_data(&serde_json::json!({"reason": "overloaded", "limit": limit}));
            if let Some(id) = &call.id {
                self.refuse(call.batch, Some(id), &error);
            } else if let Some(unlogged) = self.ignored_log.unlogged() {
                tracing::warn!(method = call.target.name(), unlogged, "a notification was dropped: {error}");
            }
            return;
        }
        self.calls.insert(key, call);
        self.side_channel.queue(true);
        // A call may have begun to wait while no call was known to need its slot.
        self.start_waiting();
    }

    /// Returns true if another call may run.
    fn has_slot(&self) -> bool {
        self.calls.started().saturating_sub(self.side_channel.paused()) < self.limits.running
    }

    pub(super) fn schedule_heartbeat(&mut self, call: &Call) {
        if call.reported.is_some() {
            let due = Instant::now() + self.limits.heartbeat;
            self.heartbeat_at = Some(self.heartbeat_at.map_or(due, |at| at.min(due)));
        }
    }

    /// Starts waiting calls while slots are free.
    pub(super) fn start_waiting(&mut self) {
        while self.calls.waiting() > 0
            && self.has_output_room()
            && self.has_slot()
            && let Some((key, mut call)) = self.calls.next_waiting()
        {
            let input = match &mut call.state {
                State::Waiting(input) => input.take(),
                _ => None,
            };
            call.has_waited = true;
            self.start(key, call, input.as_deref());
        }
        self.side_channel.queue(self.calls.waiting() > 0);
    }

    /// Polls a call once in place: most calls are then finished and cost no task. The others get a separate task.
    fn start(&mut self, key: Key, mut call: Call, input: Option<&RawValue>) {
        call.state = State::Running(None);
        let mut work = match call.begin(self.caller.clone(), input, self.shared.observer.get()) {
            Ok(work) => work,
            Err(panicked) => return self.answer(call, Reply::Panicked(panicked)),
        };
        match Pin::new(&mut work).poll(&mut TaskContext::from_waker(Waker::noop())) {
            Poll::Ready(reply) if self.side_channel.has_inbound() => {
                // Its notifications come before its answer.
                self.calls.insert(key, call);
                self.take_inbound();
                self.progress.remove(&key);
                if let Some(call) = self.calls.remove(key) {
                    self.answer(call, reply);
                }
            }
            Poll::Ready(reply) => self.answer(call, reply),
            Poll::Pending => {
                call.peer.take_slot();
                let peer = call.peer.clone();
                let task = tokio::spawn(async move {
                    let reply = work.await;
                    peer.finish(reply);
                });
                call.state = State::Running(Some(task.abort_handle()));
                self.schedule_job(&mut call);
                self.schedule_timeout(&mut call);
                self.calls.insert(key, call);
            }
        }
    }

    pub(super) fn take_inbound(&mut self) {
        let mail = self.side_channel.take();
        if mail.notifications > 0 {
            self.out.bytes().extend_from_slice(&mail.lines);
            self.notified.push_back((self.out.end(), mail.notifications, mail.lines.len()));
        }
        self.reconnect_after = mail.reconnect_after.or(self.reconnect_after);
        self.progress.extend(mail.progress);
        self.updated.extend(mail.updated);
        self.tasks_changed.extend(mail.tasks);
        if mail.more_tools {
            self.changed.insert(ListKind::Tools);
        }
        self.report_progress();
        for (key, asking) in mail.asks {
            self.ask_client(key, asking);
        }
        for (key, reply) in mail.finished {
            self.progress.remove(&key);
            self.drop_questions(key);
            if let Some(call) = self.calls.remove(key) {
                self.calls.answered(&call);
                self.answer(call, reply);
            }
        }
    }

    /// Writes the latest progress of each call, if the peer keeps up.
    pub(super) fn report_progress(&mut self) {
        if self.peer_keeps_up() {
            for (key, progress) in std::mem::take(&mut self.progress) {
                self.report(key, progress);
            }
        }
    }

    /// Notes how many notifications were written.
    pub(super) fn note_written(&mut self) {
        let written = self.out.written();
        while let Some(&(end, count, bytes)) = self.notified.front()
            && end <= written
        {
            self.notified.pop_front();
            self.side_channel.written(count, bytes);
        }
    }

    /// Releases answers whose progress was read.
    pub(super) fn release_held(&mut self) {
        let written = self.out.written();
        let drained = self.drained.as_ref();
        self.held.release(self.out.bytes(), written, || drained.and_then(|drained| drained()));
    }

    pub(super) fn release_all_held(&mut self) {
        self.held.release_all(self.out.bytes());
    }

    /// Cancels a call or a subscription for the client.
    pub(super) fn cancel(&mut self, id: &Id) {
        if let Some(at) = self.subscriptions.iter().position(|subscription| subscription.id == *id) {
            let subscription = self.subscriptions.remove(at);
            self.unwatch(subscription.uris.iter().map(String::as_str));
        }
        let Some(key) = self.calls.find(id) else { return self.calls.cancel_answered(id) };
        self.drop_questions(key);
        let until = Instant::now() + self.limits.cancel_grace;
        let batch = match self.calls.get_mut(key) {
            Some(call) if matches!(call.state, State::Waiting(_)) => self.calls.remove(key).and_then(|call| call.batch),
            Some(call) => {
                let batch = call.batch.take();
                self.calls.cancel(key, until);
                self.expire_at = Some(self.expire_at.map_or(until, |at| at.min(until)));
                batch
            }
            None => None,
        };
        self.batch_answered(batch);
    }

    /// Performs all actions whose time has come.
    pub(super) fn tick(&mut self, now: Instant) {
        if self.expire_at.is_some_and(|at| at <= now) {
            self.expire_at = None;
            let mut over = Vec::new();
            for (key, call) in self.calls.iter_mut() {
                match &call.state {
                    State::Cancelled(task, until) if *until <= now => {
                        task.abort();
                        over.push(key);
                    }
                    State::Cancelled(_, until) => {
                        self.expire_at = Some(self.expire_at.map_or(*until, |at| at.min(*until)));
                    }
                    _ => {}
                }
            }
            for key in over {
                self.calls.remove(key);
            }
        }
        if self.job_at.is_some_and(|at| at <= now) {
            self.make_jobs(now);
        }
        if self.timeout_at.is_some_and(|at| at <= now) {
            self.time_out(now);
        }
        if self.heartbeat_at.is_some_and(|at| at <= now) {
            self.heartbeat(now);
        }
    }

    /// Returns the time at which [`ConnectionState::tick`] or [`ConnectionState::release_held`] has work.
    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.expire_at, self.heartbeat_at, self.job_at, self.timeout_at, self.held.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Cancels every call: its client no longer waits, or is unable to.
    pub(super) fn cancel_all(&mut self) {
        for (_, call) in self.calls.iter_mut() {
            call.cancel.cancel();
        }
    }

    /// Ends everything at once, without answers.
    pub(super) fn abandon(&mut self) {
        self.side_channel.close();
        self.unwatch_all();
        self.out.kill();
        self.abort_all("", "");
    }

    /// Aborts every remaining call and answers it with an error.
    pub(super) fn abort_all(&mut self, message: &str, reason: &str) {
        for key in self.calls.keys() {
            let Some(call) = self.calls.remove(key) else { continue };
            call.peer.end();
            call.cancel.cancel();
            if let State::Running(Some(task)) | State::Asking(task) | State::Cancelled(task, _) = &call.state {
                task.abort();
            }
            if let Some(id) = &call.id {
                let error = RpcError::new(code::INTERNAL, message).with_data(&serde_json::json!({"reason": reason}));
                self.refuse(call.batch, Some(id), &error);
            }
        }
    }
}

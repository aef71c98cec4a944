//! The agent's unanswered requests, in order of arrival, and how much of them the daemon received. Pure bookkeeping:
//! lines in, lines and verdicts out; the threads of `stdio` do the I/O.
//!
//! While connected, lines for the daemon gather in an outbox that one thread at a time writes. After a loss,
//! [`Ledger::resume`] selects the lines for the next daemon and the agent.

use std::collections::{BTreeMap, HashMap};

use mcp::wire::{Envelope, Id, build, code};
use project::HelloAck;

use super::answers::{self, LossReason};
use super::handshake::Handshake;
use super::lists::Changed;
use super::peek::{self, Glance, Method};
use super::questions::Questions;
use super::repeat::Rules;
use super::unconfirmed_deliveries::HandOuts;

/// The number of times a request is sent to daemons that die over it.
const DELIVERIES: u8 = 3;
/// The same for a call that delivers something: if it were given up, the items would count as read.
const HAND_OUT_DELIVERIES: u8 = 200;
/// Maximum bytes of notifications and answers kept while no daemon runs.
const HELD_MAX: usize = 1024 * 1024;
/// The maximum number of progress tokens kept.
const TOKENS_MAX: usize = 256;

/// The handling of a line from the daemon.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Pass it on.
    Forward,
    /// Pass it on, but separately from earlier lines: it answers a call whose progress was just reported.
    ForwardApart,
    /// Drop it: the agent did not ask this daemon.
    Swallow,
    /// Pass this line on instead.
    Replace(Vec<u8>),
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The items, by order of arrival.
    items: BTreeMap<u64, Item>,
    by_id: HashMap<Id, u64>,
    arrived: u64,
    handshake: Handshake,
    hand_outs: HandOuts,
    questions: Questions,
    /// The last daemon's rules for repeating lost calls.
    rules: Rules,
    /// The hash of the last daemon's tool list.
    listing: Option<String>,
    /// Progress tokens sent to the agent since the last gap, as JSON.
    told: Vec<Box<str>>,
    connected: bool,
    outbox: Vec<u8>,
    /// Bytes of this connection that went through the outbox, and the number of them that were written.
    queued: u64,
    written: u64,
    /// True if the daemon disconnected without reading everything.
    unread: bool,
    /// Bytes of lines that wait for a connection.
    held: usize,
}

#[derive(Debug)]
struct Item {
    /// The line, with its newline.
    line: Box<[u8]>,
    kind: Kind,
    /// The line's end among the bytes of this connection.
    end: Option<u64>,
    /// The number of daemons that received it and died.
    deliveries: u8,
    /// True if one of them may have read it.
    taken: bool,
}

#[derive(Debug)]
enum Kind {
    Request(Request),
    /// The ids of the batch's requests.
    Batch(Vec<Id>),
    /// Needs no answer; kept until it is sent.
    Other,
}

#[derive(Debug)]
struct Request {
    id: Id,
    method: Method,
    token: Option<Box<str>>,
    /// The number of further requests under the same id: the daemon refuses each.
    duplicates: u32,
    /// True if the acknowledgement of a listen was sent to the agent.
    acknowledged: bool,
}

impl Ledger {
    /// Handles a line from the agent, without its newline. Returns a warning, if any.
    pub(super) fn agent_said(&mut self, line: &[u8]) -> Option<&'static str> {
        let Some(envelope) = Envelope::peek(line) else {
            match peek::batch(line).filter(|_| self.handshake.batches()) {
                Some(ids) => self.take(line, Kind::Batch(ids)),
                None => self.take(line, Kind::Other),
            }
            return None;
        };
        if envelope.is_response() {
            return match self.questions.answered(line, &envelope) {
                Some(line) if self.connected => {
                    self.push(&line);
                    None
                }
                _ => Some("the agent answered a question that is no longer open"),
            };
        }
        match (envelope.id(), envelope.method()) {
            (Some(id), Some(_)) => self.request(line, id, &envelope),
            (None, Some("notifications/cancelled")) if envelope.raw_id().is_none() => self.cancelled(line, &envelope),
            (None, Some("notifications/initialized")) if self.connected => {
                self.handshake.initialized = true;
                self.push(line);
            }
            _ => self.take(line, Kind::Other),
        }
        None
    }

    fn request(&mut self, line: &[u8], id: Id, envelope: &Envelope) {
        if let Some(item) = self.by_id.get(&id).and_then(|seq| self.items.get_mut(seq)) {
            if let Kind::Request(request) = &mut item.kind {
                request.duplicates += 1;
            }
            if self.connected {
                self.push(line);
            }
            return;
        }
        let method = Method::from_name(envelope.method().unwrap_or_default());
        let token = envelope.params().and_then(peek::progress_token);
        self.take(line, Kind::Request(Request { id, method, token, duplicates: 0, acknowledged: false }));
    }

    fn cancelled(&mut self, line: &[u8], envelope: &Envelope) {
        let id = envelope.params().and_then(peek::request_id);
        let seq = id.as_ref().and_then(|id| self.by_id.get(id).copied());
        let cancellable =
            |item: &Item| !matches!(&item.kind, Kind::Request(request) if request.method == Method::Initialize);
        // A cancelled request needs no answer. If one comes anyway, it is passed on.
        let seq = seq.filter(|seq| self.items.get(seq).is_some_and(cancellable));
        let cancelled = seq.and_then(|seq| self.remove(seq));
        if let Some(id) = &id {
            let is_open = cancelled.is_some_and(|item| self.rules.may_hand_out(&item.line));
            self.hand_outs.cancelled(id, is_open, self.arrived);
        }
        if self.connected {
            self.push(line);
        }
    }

    fn take(&mut self, line: &[u8], kind: Kind) {
        if let (Kind::Other, true) = (&kind, self.connected) {
            self.push(line);
            return;
        }
        if !self.connected {
            if matches!(kind, Kind::Other) && self.held > HELD_MAX {
                return;
            }
            self.held += line.len();
        }
        let seq = self.arrived;
        self.arrived += 1;
        match &kind {
            Kind::Request(request) => _ = self.by_id.insert(request.id.clone(), seq),
            Kind::Batch(ids) => self.by_id.extend(ids.iter().map(|id| (id.clone(), seq))),
            Kind::Other => {}
        }
        let mut whole = Vec::with_capacity(line.len() + 1);
        whole.extend_from_slice(line);
        whole.push(b'\n');
        let end = self.connected.then(|| self.push(line));
        self.items.insert(seq, Item { line: whole.into(), kind, end, deliveries: 0, taken: false });
    }

    /// Puts a line into the outbox and returns its end position.
    fn push(&mut self, line: &[u8]) -> u64 {
        self.outbox.extend_from_slice(line);
        self.outbox.push(b'\n');
        self.queued += line.len() as u64 + 1;
        self.queued
    }

    /// Handles a line from the daemon, without its newline.
    pub(super) fn daemon_said(&mut self, line: &[u8]) -> Verdict {
        match peek::classify_message(line) {
            Glance::Answer { id, failed } => self.answer(&id, failed, line),
            Glance::Batch(ids) => {
                if let Some(seq) = ids.iter().find_map(|id| self.by_id.get(id).copied()) {
                    self.remove(seq);
                }
                Verdict::Forward
            }
            Glance::Progress(token) => {
                if !self.told.contains(&token) {
                    self.told.truncate(TOKENS_MAX - 1);
                    self.told.insert(0, token);
                }
                Verdict::Forward
            }
            Glance::Acknowledged(id) => match self.by_id.get(&id).and_then(|seq| self.items.get_mut(seq)) {
                Some(Item { kind: Kind::Request(request), .. }) if request.acknowledged => Verdict::Swallow,
                Some(Item { kind: Kind::Request(request), .. }) => {
                    request.acknowledged = true;
                    Verdict::Forward
                }
                _ => Verdict::Forward,
            },
            Glance::Question => self.questions.ask(line).map_or(Verdict::Swallow, Verdict::Replace),
            Glance::Withdrawn => self.questions.withdrawn(line).map_or(Verdict::Forward, Verdict::Replace),
            Glance::ToolsChanged => {
                // The next daemon's list will differ from the one this daemon began with.
                self.listing = self.listing.take().map(|_| String::new());
                Verdict::Forward
            }
            Glance::Other => Verdict::Forward,
        }
    }

    fn answer(&mut self, id: &Id, failed: bool, line: &[u8]) -> Verdict {
        let Some(&seq) = self.by_id.get(id) else {
            return if self.handshake.swallows(id) { Verdict::Swallow } else { Verdict::Forward };
        };
        let Some(Item { kind: Kind::Request(request), .. }) = self.items.get_mut(&seq) else {
            self.remove(seq);
            return Verdict::Forward;
        };
        if request.duplicates > 0 && failed && peek::is_refusal(line) {
            request.duplicates -= 1;
            return Verdict::Forward;
        }
        let apart = request.token.as_ref().is_some_and(|token| self.told.contains(token));
        if let Some(Item { line: asked, kind: Kind::Request(request), .. }) = self.remove(seq)
            && !failed
        {
            if request.method == Method::Call
                && let Some(receipt) = self.rules.receipt(&asked)
            {
                self.hand_outs.answered(seq, self.arrived, id, line, receipt);
            }
            self.handshake.answered(request.method, &asked, line);
            if request.method == Method::Call && self.rules.changes_tools(&asked) {
                self.handshake.record_lasting_call(asked);
            }
        }
        if apart { Verdict::ForwardApart } else { Verdict::Forward }
    }

    /// Records that the answer to this id could not be passed on, and another was given instead.
    pub(super) fn settle(&mut self, id: &Id) {
        if let Some(&seq) = self.by_id.get(id) {
            self.remove(seq);
        }
    }

    fn remove(&mut self, seq: u64) -> Option<Item> {
        let item = self.items.remove(&seq)?;
        match &item.kind {
            Kind::Request(request) => _ = self.by_id.remove(&request.id),
            Kind::Batch(ids) => ids.iter().for_each(|id| _ = self.by_id.remove(id)),
            Kind::Other => {}
        }
        Some(item)
    }

    /// Records a gap: progress sent before it no longer matters.
    pub(super) fn gap(&mut self) {
        self.told.clear();
    }

    /// Takes the lines for the daemon; one thread at a time writes them.
    pub(super) fn take_outbox(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outbox)
    }

    /// Returns the number of bytes that wait in the outbox, or for a connection.
    pub(super) fn backlog(&self) -> usize {
        if self.connected { self.outbox.len() } else { self.held }
    }

    /// Records that `bytes` more bytes from the outbox were written to the socket.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    /// Records that the daemon disconnected without reading all data. How much is unknown, but it includes the last byte.
    pub(super) fn left_unread(&mut self) {
        self.unread = true;
    }

    /// Returns true if a pending item needs a daemon now. A listen can wait.
    pub(super) fn needs_daemon(&self) -> bool {
        self.items.values().any(|item| match &item.kind {
            Kind::Request(request) => request.method != Method::Listen || (item.end.is_none() && !item.taken),
            Kind::Batch(_) => true,
            Kind::Other => false,
        })
    }

    /// Returns true if the agent expects notifications.
    pub(super) fn listens(&self) -> bool {
        let listening = |item: &Item| matches!(&item.kind, Kind::Request(request) if request.method == Method::Listen);
        self.handshake.subscribed() || self.items.values().any(listening)
    }

    /// Returns true if another daemon could still answer something.
    pub(super) fn can_be_resent(&self) -> bool {
        self.items.values().any(|item| !matches!(item.kind, Kind::Other) && !self.is_lost(item) && !is_listen(item))
    }

    /// Records that the connection is lost, with any unwritten data. Returns lines for the agent.
    pub(super) fn record_lost_connection(&mut self) -> Vec<u8> {
        self.connected = false;
        self.outbox = Vec::new();
        self.handshake.disconnected();
        // A line counts as read even without its newline: at the end of its input a daemon accepts an unfinished line.
        // A daemon that left something unread never reached that end.
        let read = if self.unread { self.written.saturating_sub(1) } else { self.written + 1 };
        for item in self.items.values_mut() {
            let Some(end) = item.end.take() else { continue };
            item.deliveries = item.deliveries.saturating_add(u8::from(end <= self.written + 1));
            item.taken |= end <= read;
        }
        self.questions.abandon()
    }

    /// Returns true if a tool call may have run on a lost daemon.
    fn is_lost(&self, item: &Item) -> bool {
        item.taken
            && match &item.kind {
                Kind::Request(request) => request.method == Method::Call && self.rules.has_effect(&item.line),
                Kind::Batch(_) => peek::batch_calls(&item.line).any(|call| self.rules.has_effect(call)),
                Kind::Other => false,
            }
    }

    /// Returns true if a lost daemon may have delivered something in an answer that never arrived: the next daemon is
    /// told and delivers it again, so those calls can be repeated. Also returns the last receipt, which tells the
    /// daemon if they had run.
    pub(super) fn lost_hand_outs(&self) -> (bool, Option<String>) {
        let mut lost = Vec::new();
        for (seq, item) in self.items.iter().filter(|(_, item)| item.taken) {
            let calls = match &item.kind {
                Kind::Request(request) => {
                    usize::from(request.method == Method::Call && self.rules.may_hand_out(&item.line))
                }
                Kind::Batch(_) => peek::batch_calls(&item.line).filter(|call| self.rules.may_hand_out(call)).count(),
                Kind::Other => 0,
            };
            lost.extend(std::iter::repeat_n(*seq, calls));
        }
        (!lost.is_empty() || self.hand_outs.is_given_up(), self.hand_outs.last_receipt(&lost))
    }

    /// Records a new connection. Fills the outbox with the agent's handshake and the requests the daemon can still
    /// answer. Returns lines for the agent: answers to the others.
    pub(super) fn resume(&mut self, loss: LossReason) -> Vec<u8> {
        let mut answers = Vec::new();
        self.connected = true;
        self.queued = 0;
        self.written = 0;
        self.unread = false;
        self.held = 0;
        self.questions.connected();
        let initializing =
            |item: &Item| matches!(&item.kind, Kind::Request(request) if request.method == Method::Initialize);
        let in_flight = self.items.values().any(initializing);
        let mut replay = Vec::new();
        self.handshake.replay(&mut replay, in_flight);
        replay.split_inclusive(|byte| *byte == b'\n').for_each(|line| _ = self.push(&line[..line.len() - 1]));
        for seq in self.items.keys().copied().collect::<Vec<_>>() {
            let Some(item) = self.items.get_mut(&seq) else { continue };
            if let Kind::Request(request) = &mut item.kind {
                for _ in 0..std::mem::take(&mut request.duplicates) {
                    answers::duplicate(&mut answers, &request.id);
                }
            }
            let item = &self.items[&seq];
            if self.is_lost(item) || item.deliveries >= self.most_deliveries(&item.line) {
                self.give_up(seq, &loss, &mut answers);
                continue;
            }
            self.resend(seq);
        }
        answers
    }

    /// Handles the hello of this connection's daemon, after [`Ledger::resume`] has settled the last daemon's requests.
    /// Returns lines for the agent: the changes since the last daemon.
    pub(super) fn on_hello_ack(&mut self, daemon: &HelloAck, is_new_life: bool) -> Vec<u8> {
        self.rules = Rules::from_hello(daemon);
        let before = self.listing.replace(daemon.listing.clone());
        let changed = Changed {
            tools: before.as_ref().is_some_and(|before| *before != daemon.listing),
            // Sessions are resources, and none outlives its daemon.
            resources: before.is_some() && is_new_life,
        };
        let mut lines = Vec::new();
        let (promised, subscribed) = self.handshake.promised();
        changed.write_announcements(&mut lines, promised, subscribed);
        for item in self.items.values() {
            if let Kind::Request(request) = &item.kind
                && request.acknowledged
            {
                changed.tell_listen(&mut lines, &request.id, &item.line);
            }
        }
        lines
    }

    fn resend(&mut self, seq: u64) {
        let Some(item) = self.items.get_mut(&seq) else { return };
        let line = std::mem::take(&mut item.line);
        let end = self.push(&line[..line.len() - 1]);
        let Some(item) = self.items.get_mut(&seq) else { return };
        item.line = line;
        item.end = Some(end);
        match &item.kind {
            Kind::Other => {
                self.handshake.initialized |= peek::is_initialized(&item.line);
                self.remove(seq);
            }
            Kind::Request(request) if request.method == Method::Initialize && item.deliveries > 0 => {
                if let Some(line) = self.handshake.initialized_line() {
                    self.push(line);
                }
            }
            _ => {}
        }
    }

    /// Gives up all requests. Returns their error answers.
    pub(super) fn give_up_all(&mut self, loss: &LossReason) -> Vec<u8> {
        let mut answers = Vec::new();
        for seq in self.items.keys().copied().collect::<Vec<_>>() {
            self.give_up(seq, loss, &mut answers);
        }
        self.held = 0;
        answers
    }

    fn most_deliveries(&self, line: &[u8]) -> u8 {
        let hands_out = |call: &[u8]| self.rules.receipt(call).is_some();
        if hands_out(line) || peek::batch_calls(line).any(hands_out) { HAND_OUT_DELIVERIES } else { DELIVERIES }
    }

    fn give_up(&mut self, seq: u64, loss: &LossReason, answers: &mut Vec<u8>) {
        // A call with a key was sent repeatedly, and may have run each time.
        let is_sent = |item: &Item| item.taken && self.rules.is_keyed(&item.line);
        let lost = self.items.get(&seq).is_some_and(|item| self.is_lost(item) || is_sent(item));
        let Some(item) = self.remove(seq) else { return };
        match item.kind {
            Kind::Request(request) => {
                (0..request.duplicates).for_each(|_| answers::duplicate(answers, &request.id));
                if lost {
                    answers::may_have_run(answers, &request.id, &item.line, loss, &self.rules)
                } else {
                    answers::unanswered(answers, &request.id, loss)
                }
            }
            Kind::Batch(ids) => answers::batch(answers, &ids, lost, loss),
            Kind::Other => {}
        }
    }

    /// Refuses a line of the agent that is too long to keep: no part of it can be passed on.
    pub(super) fn too_long(out: &mut Vec<u8>, long: &mcp::wire::TooLong, limit: usize) {
        if long.method && long.id.is_some() {
            let text = format!(
                "the message of {} bytes exceeds the limit of {limit} bytes; send less in one message",
                long.bytes
            );
            build::error(out, long.id.as_ref(), &build::RpcError::new(code::INVALID_REQUEST, text));
        }
    }
}

fn is_listen(item: &Item) -> bool {
    matches!(&item.kind, Kind::Request(request) if request.method == Method::Listen)
}

#[cfg(test)]
mod tests;

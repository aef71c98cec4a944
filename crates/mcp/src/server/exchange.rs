//! A conversation for transports that carry whole messages: messages are put in, lines are taken out by polling, and
//! the poller drives it. An exchange serves an HTTP response or a WebSocket as a `Connection` serves a stream of bytes.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::{FINAL_GRACE, Signal, Signals};
use super::connection_state::ConnectionState;
use super::io::Output;
use super::side_channel::SideChannel;
use super::timer::Timer;
use super::wire_tap::TappedOutput;
use super::{ConnectionOptions, Server};
use crate::era::ask::ClientCapabilities;
use crate::era::{Era, ResultForm};
use crate::tool::{BoxFuture, Client};
use crate::wire::{Frame, Id};

/// The condition that ends an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Once all its requests are answered.
    UntilAnswered,
    /// When the server shuts down, or the exchange is dropped.
    UntilClosed,
}

/// A conversation of whole messages; see the module. Dropping it cancels its calls.
pub(crate) struct Exchange {
    state: ConnectionState,
    inbox: Arc<Inbox>,
    lifetime: Lifetime,
    phase: Phase,
    timer: Timer,
    signals: SignalWait,
    tap: Option<TappedOutput>,
}

enum Phase {
    Open,
    /// Calls may finish until `until`.
    Draining {
        until: Instant,
        cancelled: bool,
    },
    Over,
}

/// Waits for [`Signals`], lazily: most exchanges end before they wait.
enum SignalWait {
    Idle(Option<Signals>),
    Polling(BoxFuture<(Signal, Signals)>),
}

/// The result of a handshake, which several exchanges share.
#[derive(Clone)]
pub(crate) struct Handshake {
    pub era: Era,
    form: ResultForm,
    can: ClientCapabilities,
    client: Option<Arc<Client>>,
    budget: Option<Duration>,
    /// The side channel of the exchange that the handshake was made on.
    first: Arc<SideChannel>,
}

impl Exchange {
    pub(crate) fn new(server: &Server, mut options: ConnectionOptions, lifetime: Lifetime) -> Exchange {
        let signals = Signals::new(&server.shared, options.shutdown.take());
        let tap = options.tap.clone().map(TappedOutput::new);
        let state = ConnectionState::new(server.shared.clone(), options);
        let inbox = Arc::new(Inbox::new(state.side_channel.clone(), state.limits.waiting_bytes));
        Exchange {
            state,
            inbox,
            lifetime,
            phase: Phase::Open,
            timer: Timer::default(),
            signals: SignalWait::Idle(Some(signals)),
            tap,
        }
    }

    /// Creates another exchange of a client whose handshake was made on an earlier one. The ids of its questions begin
    /// with `ask-PREFIX-`.
    pub(crate) fn continue_session(
        server: &Server,
        options: ConnectionOptions,
        shake: &Handshake,
        prefix: String,
    ) -> Exchange {
        let mut exchange = Exchange::new(server, options, Lifetime::UntilAnswered);
        let state = &mut exchange.state;
        state.side_channel = Arc::new(SideChannel::joined(&state.limits, shake.first.clone()));
        state.era = shake.era;
        state.form = shake.form;
        state.can = shake.can;
        state.client = shake.client.clone();
        state.budget = shake.budget;
        state.questions.set_prefix(prefix);
        exchange.inbox = Arc::new(Inbox::new(state.side_channel.clone(), state.limits.waiting_bytes));
        exchange
    }

    /// Returns the result of the handshake that was made here.
    pub(crate) fn handshake(&self) -> Handshake {
        Handshake {
            era: self.state.era,
            form: self.state.form,
            can: self.state.can,
            client: self.state.client.clone(),
            budget: self.state.budget,
            first: self.state.side_channel.clone(),
        }
    }

    /// Returns the inbox, through which others put messages in.
    pub(crate) fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// Returns true if another message may be put in.
    pub(crate) fn has_room(&self) -> bool {
        matches!(self.phase, Phase::Open) && self.state.has_room()
    }

    /// Puts in one message, as whole JSON text.
    pub(crate) fn take(&mut self, message: &[u8]) {
        if matches!(self.phase, Phase::Open) {
            self.state.take_frame(Frame::Line(message));
        }
    }

    /// Puts in a message that is answered immediately or never, and returns only the answer; other output waits for the
    /// poller.
    pub(crate) fn answer_now(&mut self, message: &[u8]) -> Vec<u8> {
        let waiting = std::mem::take(&mut self.state.out);
        self.take(message);
        let answer = std::mem::replace(&mut self.state.out, waiting).take().unwrap_or_default();
        self.written(answer)
    }

    /// Returns the answer, if it is one line and the exchange is over.
    pub(crate) fn take_answer(&mut self) -> Option<Vec<u8>> {
        self.settle();
        let is_all = self.lifetime == Lifetime::UntilAnswered && self.is_idle() && self.state.out.is_line();
        let answer = is_all.then(|| self.state.out.take()).flatten()?;
        Some(self.written(answer))
    }

    /// Returns the next output, in whole lines; `None` when the exchange is over. Cancel safe.
    pub(crate) fn poll_lines(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        loop {
            self.settle();
            if let Some(lines) = self.state.out.take() {
                return Poll::Ready(Some(self.written(lines)));
            }
            if self.is_over() {
                return Poll::Ready(None);
            }
            // Registered before the check, so that no wake-up is missed.
            self.state.side_channel.register(cx.waker());
            if self.state.side_channel.has_inbound() {
                continue;
            }
            if let Poll::Ready(signal) = self.poll_signal(cx) {
                match signal {
                    Signal::Changed(list) => self.state.list_changed(list),
                    Signal::Shutdown => self.drain(),
                }
                continue;
            }
            if self.poll_timer(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Copies output to the tap.
    fn written(&mut self, lines: Vec<u8>) -> Vec<u8> {
        if let Some(tap) = &mut self.tap {
            tap.wrote(&lines);
        }
        lines
    }

    /// [`Exchange::poll_lines`] as a future.
    pub(crate) async fn lines(&mut self) -> Option<Vec<u8>> {
        poll_fn(|cx| self.poll_lines(cx)).await
    }

    /// Returns true if the client should close its stream and reconnect later.
    pub(crate) fn wants_reconnect(&self) -> bool {
        self.state.reconnect_after.is_some()
    }

    /// Takes the delay after which the client should reconnect, if it should close its stream.
    pub(crate) fn take_reconnect(&mut self) -> Option<Duration> {
        self.state.reconnect_after.take()
    }

    /// Cancels a request for the client.
    pub(crate) fn cancel(&mut self, id: &Id) {
        self.state.cancel(id);
    }

    /// Returns true if there will be no more output.
    pub(crate) fn is_over(&self) -> bool {
        let is_written = self.state.out.pending() == 0;
        match (&self.phase, self.lifetime) {
            (Phase::Over, _) => is_written,
            (_, Lifetime::UntilAnswered) => is_written && self.is_idle(),
            (_, Lifetime::UntilClosed) => false,
        }
    }

    fn is_idle(&self) -> bool {
        let state = &self.state;
        state.calls.is_empty()
            && state.held.is_empty()
            && state.subscriptions.is_empty()
            && self.inbox.is_empty()
            && !state.side_channel.has_inbound()
    }

    fn settle(&mut self) {
        self.state.note_written();
        if self.state.side_channel.has_inbound() {
            self.state.take_inbound();
        }
        while self.has_room()
            && let Some(message) = self.inbox.next()
        {
            self.state.take_frame(Frame::Line(&message));
        }
        self.state.report_progress();
        self.state.start_waiting();
        self.state.announce();
        self.state.release_held();
        self.advance_drain();
    }

    fn drain(&mut self) {
        if matches!(self.phase, Phase::Open) {
            self.state.fail_questions();
            self.phase = Phase::Draining { until: Instant::now() + self.state.limits.grace, cancelled: false };
        }
    }

    fn advance_drain(&mut self) {
        let Phase::Draining { until, cancelled } = &mut self.phase else { return };
        let now = Instant::now();
        if *until <= now {
            if *cancelled || self.state.calls.is_empty() {
                self.state.abort_all("the connection ended before the call did", "connection ended");
                self.state.release_all_held();
            } else {
                *cancelled = true;
                *until = now + FINAL_GRACE;
                self.state.cancel_all();
            }
        }
        if self.state.calls.is_empty() && self.state.held.is_empty() && !self.state.side_channel.has_inbound() {
            self.state.end_subscriptions();
            self.phase = Phase::Over;
        }
    }

    fn poll_signal(&mut self, cx: &mut Context<'_>) -> Poll<Signal> {
        if !matches!(self.phase, Phase::Open) {
            return Poll::Pending;
        }
        loop {
            match &mut self.signals {
                SignalWait::Idle(signals) => match signals.take() {
                    Some(signals) => self.signals = SignalWait::Polling(Box::pin(signals.next())),
                    None => return Poll::Pending,
                },
                SignalWait::Polling(next) => {
                    let Poll::Ready((signal, signals)) = next.as_mut().poll(cx) else { return Poll::Pending };
                    self.signals = SignalWait::Idle(Some(signals));
                    return Poll::Ready(signal);
                }
            }
        }
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let phase = match &self.phase {
            Phase::Draining { until, .. } => Some(*until),
            Phase::Open | Phase::Over => None,
        };
        std::task::ready!(self.timer.poll(cx, [phase, self.state.deadline()]));
        self.state.tick(Instant::now());
        Poll::Ready(())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.state.abandon();
    }
}

/// A bounded queue of messages for an exchange that another task drives.
pub(crate) struct Inbox {
    waiting: Mutex<Queue>,
    side_channel: Arc<SideChannel>,
    limit: usize,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Box<[u8]>>,
    /// The total of the messages with their overhead.
    bytes: usize,
}

/// Bytes counted for each message in addition to its text, so that many short ones are bounded too.
const MESSAGE_OVERHEAD: usize = 64;

impl Inbox {
    fn new(side_channel: Arc<SideChannel>, limit: usize) -> Inbox {
        Inbox { waiting: Mutex::default(), side_channel, limit }
    }

    /// Puts in a message; false if the inbox is full.
    pub(crate) fn put(&self, message: &[u8]) -> bool {
        let mut waiting = self.lock();
        let bytes = waiting.bytes + message.len() + MESSAGE_OVERHEAD;
        if bytes > self.limit {
            return false;
        }
        waiting.bytes = bytes;
        waiting.messages.push_back(message.into());
        drop(waiting);
        self.side_channel.nudge();
        true
    }

    fn next(&self) -> Option<Box<[u8]>> {
        let mut waiting = self.lock();
        let message = waiting.messages.pop_front()?;
        waiting.bytes -= message.len() + MESSAGE_OVERHEAD;
        Some(message)
    }

    fn is_empty(&self) -> bool {
        self.lock().messages.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.waiting.lock()
    }
}

impl Output {
    /// Takes all pending output, which then counts as written.
    fn take(&mut self) -> Option<Vec<u8>> {
        match self.pending() {
            0 => None,
            _ => Some(self.take_all()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Limits;

    #[test]
    fn many_short_messages_are_bounded_as_few_long_ones_are() {
        let inbox = Inbox::new(Arc::new(SideChannel::new(&Limits::default())), 6_500);
        assert!(!inbox.put(&[b'x'; 6_500]));
        let taken = (0..10_000).take_while(|_| inbox.put(b"7")).count();
        assert_eq!(taken, 100);
        assert_eq!(inbox.next().as_deref(), Some(&b"7"[..]));
        assert!(inbox.put(b"8") && !inbox.put(b"9"), "there is room for as much as left");
        while inbox.next().is_some() {}
        assert!(inbox.is_empty() && inbox.put(&[b'x'; 6_400]));
    }
}

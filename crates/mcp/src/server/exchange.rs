//! A conversation without streams of its own, for transports that carry whole messages: messages are put in, lines are
//! taken out by polling, and whoever polls drives it. What a connection is to a stream of bytes, an exchange is to an
//! HTTP response or a WebSocket.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::{LAST_WORDS, Signal, Signals};
use super::io::Output;
use super::mailbox::Mailbox;
use super::session::Session;
use super::tap::TappedOutput;
use super::timer::Timer;
use super::{ConnectionOptions, Server};
use crate::era::Era;
use crate::era::ask::Capabilities;
use crate::tool::BoxFuture;
use crate::wire::{Frame, Id};

/// When an exchange is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// When everything that was put in is answered.
    Answered,
    /// When the server ends it, or it is dropped.
    Kept,
}

/// See the module's description. Dropping it cancels what it runs.
pub(crate) struct Exchange {
    session: Session,
    inbox: Arc<Inbox>,
    life: Life,
    phase: Phase,
    timer: Timer,
    signals: Waiting,
    tap: Option<TappedOutput>,
}

enum Phase {
    Open,
    /// Calls may finish until then.
    Draining {
        until: Instant,
        cancelled: bool,
    },
    Over,
}

/// What is told to all at once: looked at only by those who wait.
enum Waiting {
    NotYet(Option<Signals>),
    Since(BoxFuture<(Signal, Signals)>),
}

/// What several exchanges of one handshake have in common.
#[derive(Clone)]
pub(crate) struct Handshake {
    pub era: Era,
    can: Capabilities,
    budget: Option<Duration>,
    level: Arc<AtomicU8>,
    /// Where notifications go when the exchange they came from is over.
    rest: Arc<Mailbox>,
}

impl Exchange {
    pub(crate) fn new(server: &Server, mut options: ConnectionOptions, life: Life) -> Exchange {
        let signals = Signals::new(&server.shared, options.shutdown.take());
        let tap = options.tap.clone().map(TappedOutput::new);
        let session = Session::new(server.shared.clone(), options);
        let inbox = Arc::new(Inbox::new(session.mailbox.clone(), session.limits.waiting_bytes));
        Exchange {
            session,
            inbox,
            life,
            phase: Phase::Open,
            timer: Timer::default(),
            signals: Waiting::NotYet(Some(signals)),
            tap,
        }
    }

    /// One more exchange of a client that made its handshake on another. The ids of questions on this one begin with
    /// `ask-PREFIX-`.
    pub(crate) fn of(server: &Server, options: ConnectionOptions, shake: &Handshake, prefix: String) -> Exchange {
        let mut exchange = Exchange::new(server, options, Life::Answered);
        let session = &mut exchange.session;
        let (level, rest) = (shake.level.clone(), shake.rest.clone());
        session.mailbox = Arc::new(Mailbox::joined(&session.limits, level, rest));
        session.era = shake.era;
        session.can = shake.can;
        session.budget = shake.budget;
        session.asked.set_prefix(prefix);
        exchange.inbox = Arc::new(Inbox::new(session.mailbox.clone(), session.limits.waiting_bytes));
        exchange
    }

    /// What the handshake made here came to.
    pub(crate) fn handshake(&self) -> Handshake {
        Handshake {
            era: self.session.era,
            can: self.session.can,
            budget: self.session.budget,
            level: self.session.mailbox.shared_level(),
            rest: self.session.mailbox.clone(),
        }
    }

    /// Where others put messages in.
    pub(crate) fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// Whether another message may be put in.
    pub(crate) fn has_room(&self) -> bool {
        matches!(self.phase, Phase::Open) && self.session.has_room()
    }

    /// Puts one message in: JSON text, whole.
    pub(crate) fn take(&mut self, message: &[u8]) {
        if matches!(self.phase, Phase::Open) {
            self.session.take_frame(Frame::Line(message));
        }
    }

    /// Puts a message in that is answered at once or not at all, and gives the answer alone: what else there is to say
    /// waits for whoever polls.
    pub(crate) fn answer_now(&mut self, message: &[u8]) -> Vec<u8> {
        let waiting = std::mem::take(&mut self.session.out);
        self.take(message);
        let answer = std::mem::replace(&mut self.session.out, waiting).take().unwrap_or_default();
        self.written(answer)
    }

    /// The answer, if it is one line and there is nothing more to come.
    pub(crate) fn take_answer(&mut self) -> Option<Vec<u8>> {
        self.settle();
        let is_all = self.life == Life::Answered && self.is_idle() && self.session.out.is_line();
        let answer = is_all.then(|| self.session.out.take()).flatten()?;
        Some(self.written(answer))
    }

    /// The next output, whole lines; nothing when the exchange is over. Cancel safe.
    pub(crate) fn poll_lines(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        loop {
            self.settle();
            if let Some(lines) = self.session.out.take() {
                return Poll::Ready(Some(self.written(lines)));
            }
            if self.is_over() {
                return Poll::Ready(None);
            }
            // Registered before looking, so that nothing slips in between.
            self.session.mailbox.register(cx.waker());
            if self.session.mailbox.is_filled() {
                continue;
            }
            if let Poll::Ready(signal) = self.poll_signal(cx) {
                match signal {
                    Signal::Changed(list) => self.session.list_changed(list),
                    Signal::Shutdown => self.drain(),
                }
                continue;
            }
            if self.poll_timer(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// What leaves goes to the tap, too.
    fn written(&mut self, lines: Vec<u8>) -> Vec<u8> {
        if let Some(tap) = &mut self.tap {
            tap.wrote(&lines);
        }
        lines
    }

    /// The same as a future.
    pub(crate) async fn lines(&mut self) -> Option<Vec<u8>> {
        poll_fn(|cx| self.poll_lines(cx)).await
    }

    /// Whether the client is to be let go.
    pub(crate) fn has_come_back(&self) -> bool {
        self.session.come_back.is_some()
    }

    /// After how long the client is to come back, if it is to be let go.
    pub(crate) fn take_come_back(&mut self) -> Option<Duration> {
        self.session.come_back.take()
    }

    /// The client takes a request back.
    pub(crate) fn cancel(&mut self, id: &Id) {
        self.session.cancel(id);
    }

    /// Whether nothing more is to come.
    pub(crate) fn is_over(&self) -> bool {
        let is_written = self.session.out.pending() == 0;
        match (&self.phase, self.life) {
            (Phase::Over, _) => is_written,
            (_, Life::Answered) => is_written && self.is_idle(),
            (_, Life::Kept) => false,
        }
    }

    fn is_idle(&self) -> bool {
        let session = &self.session;
        session.calls.is_empty()
            && session.held.is_empty()
            && session.listens.is_empty()
            && self.inbox.is_empty()
            && !session.mailbox.is_filled()
    }

    fn settle(&mut self) {
        self.session.wrote();
        if self.session.mailbox.is_filled() {
            self.session.take_mail();
        }
        while self.has_room()
            && let Some(message) = self.inbox.next()
        {
            self.session.take_frame(Frame::Line(&message));
        }
        self.session.report_progress();
        self.session.start_waiting();
        self.session.announce();
        self.session.release_held();
        self.go_on_ending();
    }

    fn drain(&mut self) {
        if matches!(self.phase, Phase::Open) {
            self.session.nobody_answers();
            self.phase = Phase::Draining { until: Instant::now() + self.session.limits.grace, cancelled: false };
        }
    }

    fn go_on_ending(&mut self) {
        let Phase::Draining { until, cancelled } = &mut self.phase else { return };
        let now = Instant::now();
        if *until <= now {
            if *cancelled || self.session.calls.is_empty() {
                self.session.give_up("the connection ended before the call did", "connection ended");
                self.session.release_all_held();
            } else {
                *cancelled = true;
                *until = now + LAST_WORDS;
                self.session.cancel_all();
            }
        }
        if self.session.calls.is_empty() && self.session.held.is_empty() && !self.session.mailbox.is_filled() {
            self.session.end_listens();
            self.phase = Phase::Over;
        }
    }

    fn poll_signal(&mut self, cx: &mut Context<'_>) -> Poll<Signal> {
        if !matches!(self.phase, Phase::Open) {
            return Poll::Pending;
        }
        loop {
            match &mut self.signals {
                Waiting::NotYet(signals) => match signals.take() {
                    Some(signals) => self.signals = Waiting::Since(Box::pin(signals.next())),
                    None => return Poll::Pending,
                },
                Waiting::Since(next) => {
                    let Poll::Ready((signal, signals)) = next.as_mut().poll(cx) else { return Poll::Pending };
                    self.signals = Waiting::NotYet(Some(signals));
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
        std::task::ready!(self.timer.poll(cx, [phase, self.session.deadline()]));
        self.session.tick(Instant::now());
        Poll::Ready(())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.session.mailbox.close();
        self.session.unwatch_all();
        self.session.out.kill();
        self.session.give_up("", "");
    }
}

/// Messages for an exchange that somebody else drives. Bounded.
pub(crate) struct Inbox {
    waiting: Mutex<Waits>,
    mailbox: Arc<Mailbox>,
    limit: usize,
}

#[derive(Default)]
struct Waits {
    messages: VecDeque<Box<[u8]>>,
    /// What they hold.
    bytes: usize,
}

/// What a message holds, however short it is.
const LEAST: usize = 64;

impl Inbox {
    fn new(mailbox: Arc<Mailbox>, limit: usize) -> Inbox {
        Inbox { waiting: Mutex::default(), mailbox, limit }
    }

    /// Puts a message in; false if too much waits already.
    pub(crate) fn put(&self, message: &[u8]) -> bool {
        let mut waiting = self.lock();
        let bytes = waiting.bytes + message.len() + LEAST;
        if bytes > self.limit {
            return false;
        }
        waiting.bytes = bytes;
        waiting.messages.push_back(message.into());
        drop(waiting);
        self.mailbox.nudge();
        true
    }

    fn next(&self) -> Option<Box<[u8]>> {
        let mut waiting = self.lock();
        let message = waiting.messages.pop_front()?;
        waiting.bytes -= message.len() + LEAST;
        Some(message)
    }

    fn is_empty(&self) -> bool {
        self.lock().messages.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Output {
    /// Everything there is; whoever takes it has it written.
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
        let inbox = Inbox::new(Arc::new(Mailbox::new(&Limits::default())), 6_500);
        assert!(!inbox.put(&[b'x'; 6_500]));
        let taken = (0..10_000).take_while(|_| inbox.put(b"7")).count();
        assert_eq!(taken, 100);
        assert_eq!(inbox.next().as_deref(), Some(&b"7"[..]));
        assert!(inbox.put(b"8") && !inbox.put(b"9"), "there is room for as much as left");
        while inbox.next().is_some() {}
        assert!(inbox.is_empty() && inbox.put(&[b'x'; 6_400]));
    }
}

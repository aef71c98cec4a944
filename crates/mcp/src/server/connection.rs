//! The life of a connection: one loop that waits for the next event and hands it to the [`ConnectionState`]. Every
//! reason to end a connection is here; `connection_state.rs` interprets messages.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::Instant;

use super::connection_state::{ConnectionState, ListKind};
use super::io::Io;
use super::timer::Timer;
use super::wire_tap::TappedOutput;
use super::{ConnectionOptions, End, Shared};
use crate::tool::BoxFuture;
use crate::wire::Framer;

/// The time in which cancelled calls may still answer after the grace period of all calls.
pub(super) const FINAL_GRACE: Duration = Duration::from_millis(100);

/// The interval, in polls, at which rare events go first, so that busy streams do not starve them.
const RARE_POLL_INTERVAL: u32 = 32;

/// The number of bytes that a connection reads before it yields to others: at most about a millisecond of work.
const READ_BUDGET: usize = 64 << 10;

pub(super) struct Connection<R, W> {
    io: Io<R, W>,
    framer: Framer,
    state: ConnectionState,
    phase: Phase,
    timer: Timer,
    signals: BoxFuture<(Signal, Signals)>,
    turn: u32,
    /// Bytes read since the connection last yielded.
    taken: usize,
}

/// An event of a connection.
enum Event {
    Read(usize),
    ReadFailed(io::Error),
    Wrote,
    WriteFailed(io::Error),
    Inbound,
    Time,
    Signal(Signal),
}

pub(super) enum Signal {
    Changed(ListKind),
    Shutdown,
}

enum Phase {
    Open,
    /// Input has ended; calls may finish until `until`.
    Draining {
        end: End,
        until: Instant,
        cancelled: bool,
    },
    /// All calls have ended; the peer may read the output until `until`.
    Flushing {
        end: End,
        until: Instant,
    },
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Connection<R, W> {
    pub(super) fn new(shared: Arc<Shared>, reader: R, writer: W, mut options: ConnectionOptions) -> Connection<R, W> {
        let mut framer = Framer::new(options.limits.line);
        framer.push(&std::mem::take(&mut options.initial));
        let signals = Signals::new(&shared, options.shutdown.take());
        Connection {
            io: Io::new(reader, writer, options.tap.clone().map(TappedOutput::new)),
            framer,
            state: ConnectionState::new(shared, options),
            phase: Phase::Open,
            timer: Timer::default(),
            signals: Box::pin(signals.next()),
            turn: 0,
            taken: 0,
        }
    }

    /// Cancel safe only in the sense that dropping ends the connection.
    pub(super) async fn run(mut self) -> End {
        loop {
            self.settle();
            if let Some(end) = self.next_phase() {
                // Best effort: a peer that has disconnected cannot be notified.
                let _ = poll_fn(|cx| self.io.poll_shutdown(cx)).await;
                return end;
            }
            match poll_fn(|cx| self.poll_event(cx)).await {
                Event::Read(0) => self.end_of_input(),
                Event::Read(_) | Event::Inbound => {}
                Event::Wrote => self.extend_flush(),
                Event::ReadFailed(error) => {
                    tracing::debug!(%error, "reading failed; taken as the end of input");
                    self.end_of_input();
                }
                Event::WriteFailed(error) => self.peer_gone(error),
                Event::Time => self.state.tick(Instant::now()),
                Event::Signal(Signal::Changed(list)) => self.state.list_changed(list),
                Event::Signal(Signal::Shutdown) => self.drain(End::Shutdown),
            }
        }
    }

    /// Does all work that needs no waiting.
    fn settle(&mut self) {
        self.state.note_written();
        if self.state.side_channel.has_inbound() {
            self.state.take_inbound();
        }
        self.state.report_progress();
        self.state.start_waiting();
        if matches!(self.phase, Phase::Open) {
            // Taken out for the loop, since a frame borrows from it.
            let mut framer = std::mem::take(&mut self.framer);
            while self.state.has_room()
                && let Some(frame) = framer.next_frame()
            {
                self.state.take_frame(frame);
            }
            self.framer = framer;
        }
        self.state.announce();
        self.state.release_held();
    }

    /// Extends the deadline: a peer that reads, however slowly, keeps its connection.
    fn extend_flush(&mut self) {
        if let Phase::Flushing { until, .. } = &mut self.phase {
            *until = Instant::now() + self.state.limits.flush;
        }
    }

    fn end_of_input(&mut self) {
        // A last line without a line end is processed too.
        let mut framer = std::mem::take(&mut self.framer);
        if let Some(frame) = framer.finish() {
            self.state.take_frame(frame);
        }
        self.drain(End::Input);
    }

    fn drain(&mut self, end: End) {
        if matches!(self.phase, Phase::Open) {
            self.state.fail_questions();
            let until = Instant::now() + self.state.limits.grace;
            self.phase = Phase::Draining { end, until, cancelled: false };
        }
    }

    fn peer_gone(&mut self, error: io::Error) {
        self.state.release_all_held();
        self.state.out.kill();
        self.state.cancel_all();
        let until = Instant::now() + FINAL_GRACE;
        self.phase = Phase::Draining { end: End::PeerGone(error), until, cancelled: true };
    }

    /// Advances towards the end; `Some` when it is reached.
    fn next_phase(&mut self) -> Option<End> {
        if matches!(self.phase, Phase::Open) {
            return None;
        }
        let now = Instant::now();
        if let Phase::Draining { until, cancelled, .. } = &mut self.phase
            && *until <= now
        {
            if *cancelled || self.state.calls.is_empty() {
                self.state.abort_all("the connection ended before the call did", "connection ended");
                self.state.release_all_held();
            } else {
                *cancelled = true;
                *until = now + FINAL_GRACE;
                self.state.cancel_all();
            }
        }
        if matches!(self.phase, Phase::Draining { .. })
            && self.state.calls.is_empty()
            && self.state.held.is_empty()
            && !self.state.side_channel.has_inbound()
        {
            self.state.end_subscriptions();
            let until = now + self.state.limits.flush;
            self.phase = match std::mem::replace(&mut self.phase, Phase::Open) {
                Phase::Draining { end, .. } => Phase::Flushing { end, until },
                other => other,
            };
        }
        let Phase::Flushing { end, until } = &mut self.phase else { return None };
        if self.state.out.pending() == 0 && (self.io.is_flushed() || matches!(end, End::PeerGone(_))) {
            return Some(std::mem::replace(end, End::Input));
        }
        if *until <= now {
            return Some(End::PeerGone(io::ErrorKind::TimedOut.into()));
        }
        None
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        self.turn = self.turn.wrapping_add(1);
        if self.turn.is_multiple_of(RARE_POLL_INTERVAL)
            && let Poll::Ready(event) = self.poll_rare(cx)
        {
            return Poll::Ready(event);
        }
        match self.io.poll_write(cx, &mut self.state.out) {
            Poll::Ready(Ok(())) => return Poll::Ready(Event::Wrote),
            Poll::Ready(Err(error)) => return Poll::Ready(Event::WriteFailed(error)),
            Poll::Pending => {}
        }
        if matches!(self.phase, Phase::Open) && self.state.has_room() {
            if self.taken >= READ_BUDGET {
                // A peer that never pauses yields to the other connections.
                self.taken = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            match self.io.poll_read(cx, &mut self.framer) {
                Poll::Ready(Ok(count)) => {
                    self.taken += count;
                    return Poll::Ready(Event::Read(count));
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Event::ReadFailed(error)),
                Poll::Pending => {
                    self.taken = 0;
                    // The connection is idle: releases the buffers of a busy time.
                    self.state.out.shrink();
                    self.state.calls.shrink();
                }
            }
        }
        self.poll_rare(cx)
    }

    fn poll_rare(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        // Registered before the check, so that no wake-up is missed.
        self.state.side_channel.register(cx.waker());
        if self.state.side_channel.has_inbound() {
            return Poll::Ready(Event::Inbound);
        }
        if matches!(self.phase, Phase::Open)
            && let Poll::Ready((signal, signals)) = self.signals.as_mut().poll(cx)
        {
            self.signals = Box::pin(signals.next());
            return Poll::Ready(Event::Signal(signal));
        }
        self.poll_timer(cx)
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        let phase = match &self.phase {
            Phase::Open => None,
            Phase::Draining { until, .. } | Phase::Flushing { until, .. } => Some(*until),
        };
        self.timer.poll(cx, [phase, self.state.deadline()]).map(|()| Event::Time)
    }
}

impl<R, W> Drop for Connection<R, W> {
    fn drop(&mut self) {
        self.state.abandon();
    }
}

/// The signals that reach all connections at once: changed lists and shutdown.
pub(super) struct Signals {
    tools: watch::Receiver<u64>,
    resources: Option<watch::Receiver<u64>>,
    prompts: Option<watch::Receiver<u64>>,
    server: watch::Receiver<bool>,
    connection: Option<watch::Receiver<bool>>,
}

impl Signals {
    pub(super) fn new(shared: &Shared, connection: Option<watch::Receiver<bool>>) -> Signals {
        Signals {
            tools: shared.registry.changes(),
            resources: shared.resources.get().map(|resources| resources.changes()),
            prompts: shared.prompts.get().map(|prompts| prompts.changes()),
            server: shared.shutdown.subscribe(),
            connection,
        }
    }

    pub(super) async fn next(mut self) -> (Signal, Signals) {
        let signal = tokio::select! {
            biased;
            () = is_true(Some(&mut self.server)) => Signal::Shutdown,
            () = is_true(self.connection.as_mut()) => Signal::Shutdown,
            () = changed(Some(&mut self.tools)) => Signal::Changed(ListKind::Tools),
            () = changed(self.resources.as_mut()) => Signal::Changed(ListKind::Resources),
            () = changed(self.prompts.as_mut()) => Signal::Changed(ListKind::Prompts),
        };
        (signal, self)
    }
}

/// Resolves when the list changes; never without a list.
async fn changed(list: Option<&mut watch::Receiver<u64>>) {
    match list {
        Some(list) => {
            // The connection keeps the lists alive. A list that ended would not change again.
            if list.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
        None => std::future::pending().await,
    }
}

/// Resolves when the flag turns true; never without a flag.
async fn is_true(flag: Option<&mut watch::Receiver<bool>>) {
    match flag {
        Some(flag) => {
            if flag.wait_for(|flag| *flag).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
        None => std::future::pending().await,
    }
}

//! A stream of a session: an exchange and its latest events, for a client that loses its connection and reconnects
//! (2025-03-26 to 2025-11-25, "Resumability and Redelivery"). At most one response reads it; without one, a task drives
//! the exchange.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::endpoint::Slot;
use super::events::{self, Source};
use crate::server::exchange::{Exchange, Inbox};
use crate::wire::Id;

pub(super) struct Stream {
    /// The number within the session.
    pub number: u64,
    /// The ids of the requests that it answers.
    pub ids: Vec<Id>,
    pub inbox: Arc<Inbox>,
    state: Mutex<State>,
}

struct State {
    /// The exchange and its slot; `None` once it is over.
    live: Option<(Exchange, Option<Slot>)>,
    events: VecDeque<(u64, Bytes)>,
    bytes: usize,
    /// The number of the next event. Event 0 only names the stream.
    next: u64,
    /// Events below this number were handed to a response.
    sent: u64,
    /// The number of the current driver; a new driver increments it and takes over.
    driver: u64,
    is_read: bool,
    /// True if the client knows the stream's number without having seen an event.
    is_named: bool,
    /// True if the reader was asked to reconnect, and ends.
    told_to_reconnect: bool,
    waker: Option<Waker>,
    retention: Retention,
}

/// The kept part of a stream for a client that reconnects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retention {
    pub events: usize,
    pub bytes: usize,
}

impl Stream {
    pub(super) fn new(
        number: u64,
        ids: Vec<Id>,
        exchange: Exchange,
        slot: Option<Slot>,
        retention: Retention,
    ) -> Arc<Stream> {
        Arc::new(Stream {
            number,
            ids,
            inbox: exchange.inbox(),
            state: Mutex::new(State {
                live: Some((exchange, slot)),
                events: VecDeque::new(),
                bytes: 0,
                next: 1,
                sent: 1,
                driver: 0,
                is_read: false,
                is_named: false,
                told_to_reconnect: false,
                waker: None,
                retention,
            }),
        })
    }

    /// Reads the stream in place of the current reader: from after this event, else from the first unread one.
    pub(super) fn read(self: &Arc<Stream>, after: Option<u64>) -> Reader {
        let mut state = self.lock();
        if let Some(after) = after {
            state.sent = after.saturating_add(1).min(state.next);
            // The client has reconnected, so its delay is void.
            state.live.as_mut().and_then(|(exchange, _)| exchange.take_reconnect());
        }
        state.is_read = true;
        state.told_to_reconnect = false;
        Reader { driver: state.take_over(), stream: self.clone() }
    }

    /// Returns true if this event has existed.
    pub(super) fn has(&self, event: u64) -> bool {
        event < self.lock().next
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().live.is_none()
    }

    /// Bytes of events that are kept.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.lock().bytes
    }

    pub(super) fn is_read(&self) -> bool {
        self.lock().is_read
    }

    /// Puts in a message that is answered at once or not at all.
    pub(super) fn answer_now(&self, message: &[u8]) -> Vec<u8> {
        let mut state = self.lock();
        state.live.as_mut().map(|(exchange, _)| exchange.answer_now(message)).unwrap_or_default()
    }

    /// Returns the event that only names the stream, so that a client without other events can reconnect.
    pub(super) fn first_event(&self) -> Bytes {
        self.lock().is_named = true;
        format!("id: {}-0\nretry: 1000\ndata: \n\n", self.number).into()
    }

    /// Drives the exchange without a reader, until it is over or has a reader again.
    fn drive(self: &Arc<Stream>, driver: u64) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let stream = self.clone();
        runtime.spawn(poll_fn(move |cx| {
            let mut state = stream.lock();
            if state.driver != driver {
                return Poll::Ready(());
            }
            state.waker = Some(cx.waker().clone());
            loop {
                match state.poll_lines(cx) {
                    Poll::Ready(true) => {}
                    Poll::Ready(false) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        }));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Makes the caller the driver, and wakes the former one, which stops.
    fn take_over(&mut self) -> u64 {
        self.driver += 1;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        self.driver
    }

    /// Takes the exchange's output into the log; false at its end.
    fn poll_lines(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let Some((exchange, _)) = &mut self.live else { return Poll::Ready(false) };
        let lines = std::task::ready!(exchange.poll_lines(cx));
        let is_over = exchange.is_over();
        for line in lines.iter().flat_map(|lines| lines.split(|byte| *byte == b'\n')).filter(|line| !line.is_empty()) {
            self.events.push_back((self.next, Bytes::copy_from_slice(line)));
            self.bytes += line.len();
            self.next += 1;
        }
        if is_over {
            self.live = None;
        }
        // The last event is the answer, which stays whatever its size.
        while self.events.len() > 1 && (self.events.len() > self.retention.events || self.bytes > self.retention.bytes)
        {
            let Some((number, event)) = self.events.front() else { break };
            if *number >= self.sent && self.is_read {
                break;
            }
            self.bytes -= event.len();
            self.events.pop_front();
        }
        Poll::Ready(lines.is_some())
    }

    /// Takes the unsent events, encoded.
    fn unsent(&mut self, stream: u64) -> Option<Bytes> {
        let from = self.events.partition_point(|(number, _)| *number < self.sent);
        let mut out = Vec::new();
        for (number, event) in self.events.iter().skip(from) {
            let mut id = String::new();
            // Writing to a string cannot fail.
            let _ = writeln!(id, "id: {stream}-{number}");
            out.extend_from_slice(id.as_bytes());
            events::push(&mut out, event);
        }
        self.sent = self.next;
        (!out.is_empty()).then(|| out.into())
    }
}

/// A response that reads a stream. If it is dropped before the end, the stream goes on without it.
pub(super) struct Reader {
    stream: Arc<Stream>,
    driver: u64,
}

impl Reader {
    /// Returns the first output of a stream: its answer alone if that is all, else events.
    pub(super) fn poll_unsent(&mut self, cx: &mut Context<'_>) -> Poll<Option<Unsent>> {
        let mut state = self.stream.lock();
        if state.driver != self.driver {
            return Poll::Ready(None);
        }
        loop {
            let from = state.events.partition_point(|(number, _)| *number < state.sent);
            match state.events.len() - from {
                0 => {}
                1 if state.live.is_none() && state.next == 2 => {
                    return Poll::Ready(state.events.back().map(|(_, event)| Unsent::Answer(event.clone())));
                }
                _ => return Poll::Ready(state.unsent(self.stream.number).map(Unsent::Events)),
            }
            state.waker = Some(cx.waker().clone());
            match state.poll_lines(cx) {
                Poll::Ready(true) => {}
                Poll::Ready(false) => return Poll::Ready(None),
                Poll::Pending if state.live.as_ref().is_some_and(|(exchange, _)| exchange.wants_reconnect()) => {
                    return Poll::Ready(Some(Unsent::Events(Bytes::new())));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// The first output of a stream.
pub(super) enum Unsent {
    /// The answer alone, as JSON.
    Answer(Bytes),
    Events(Bytes),
}

impl Source for Reader {
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.stream.lock();
        if state.driver != self.driver || state.told_to_reconnect {
            return Poll::Ready(None);
        }
        loop {
            if let Some(events) = state.unsent(self.stream.number) {
                return Poll::Ready(Some(events));
            }
            state.waker = Some(cx.waker().clone());
            match state.poll_lines(cx) {
                Poll::Ready(true) => {}
                Poll::Ready(false) => return Poll::Ready(None),
                Poll::Pending => {
                    let reconnect_after = state.live.as_mut().and_then(|(exchange, _)| exchange.take_reconnect());
                    // A client that knows no event cannot reconnect.
                    let can_come_back = state.is_named || state.sent > 1;
                    let Some(after) = reconnect_after.filter(|_| can_come_back) else { return Poll::Pending };
                    state.told_to_reconnect = true;
                    return Poll::Ready(Some(format!("retry: {}\n\n", after.as_millis()).into()));
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        let state = self.stream.lock();
        state.driver != self.driver || state.told_to_reconnect || (state.live.is_none() && state.sent == state.next)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.stream.lock();
        if state.driver != self.driver {
            return;
        }
        state.is_read = false;
        let driver = state.take_over();
        if state.live.is_some() {
            drop(state);
            self.stream.drive(driver);
        }
    }
}

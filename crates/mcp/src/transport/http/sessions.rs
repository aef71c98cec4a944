//! HTTP sessions: the state of clients that make a handshake (2025-03-26 to 2025-11-25, "Session Management").

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use super::HttpLimits;
use super::refusal::Refusal;
use super::stream::{Retention, Stream};
use crate::server::ConnectionOptions;
use crate::server::exchange::{Exchange, Handshake};
use crate::wire::Id;

pub(super) struct HttpSessions {
    all: Mutex<HashMap<String, Arc<HttpSession>>>,
    limits: HttpLimits,
}

pub(super) struct HttpSession {
    pub id: String,
    principal: String,
    pub handshake: Handshake,
    /// The options of each of its exchanges.
    options: ConnectionOptions,
    /// The stream of messages that belong to no request.
    pub main: Arc<Stream>,
    streams: Mutex<Vec<Arc<Stream>>>,
    last_number: AtomicU64,
    pub running: Arc<Semaphore>,
    pub waiting: AtomicUsize,
    ends: watch::Sender<bool>,
    used: Mutex<Instant>,
}

impl HttpSessions {
    pub(super) fn new(limits: &HttpLimits) -> HttpSessions {
        HttpSessions { all: Mutex::default(), limits: limits.clone() }
    }

    /// Checks that there may be another session; drops idle ones.
    pub(super) fn check_room(&self, id: &Id) -> Result<(), Refusal> {
        let idle = self.limits.session_idle;
        let mut all = self.lock();
        let over: Vec<String> = all.values().filter(|one| one.is_idle(idle)).map(|one| one.id.clone()).collect();
        let over: Vec<_> = over.iter().filter_map(|id| all.remove(id)).collect();
        let count = all.len();
        drop(all);
        // Ending their calls may run foreign code, so it happens outside of the lock.
        over.iter().for_each(|session| session.end());
        if count < self.limits.sessions {
            Ok(())
        } else {
            Err(Refusal::busy(Some(id), "sessions", self.limits.sessions))
        }
    }

    /// Keeps the session that began with this exchange's handshake.
    pub(super) fn begin(
        &self,
        exchange: Exchange,
        options: ConnectionOptions,
        ends: watch::Sender<bool>,
    ) -> Arc<HttpSession> {
        let keep = self.keep();
        let session = Arc::new(HttpSession {
            id: random_id(),
            principal: options.principal.clone(),
            handshake: exchange.handshake(),
            main: Stream::new(0, Vec::new(), exchange, None, keep),
            streams: Mutex::default(),
            last_number: AtomicU64::new(0),
            running: Arc::new(Semaphore::new(options.limits.running)),
            waiting: AtomicUsize::new(0),
            options,
            ends,
            used: Mutex::new(Instant::now()),
        });
        self.lock().insert(session.id.clone(), session.clone());
        session
    }

    /// Returns the session with this id, if it belongs to this principal.
    pub(super) fn get(&self, id: &str, principal: &str) -> Option<Arc<HttpSession>> {
        let session = self.lock().get(id).filter(|session| session.principal == principal).cloned()?;
        session.touch();
        Some(session)
    }

    /// Ends the session with this id, if it belongs to this principal.
    pub(super) fn remove(&self, id: &str, principal: &str) -> bool {
        let Some(session) = self.get(id, principal) else { return false };
        let removed = self.lock().remove(&session.id).is_some();
        session.end();
        removed
    }

    pub(super) fn end_all(&self) {
        let all = std::mem::take(&mut *self.lock());
        all.values().for_each(|session| session.end());
    }

    pub(super) fn keep(&self) -> Retention {
        Retention { events: self.limits.kept_events, bytes: self.limits.kept_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<HttpSession>>> {
        self.all.lock()
    }
}

impl HttpSession {
    /// Returns the options of another exchange of this session.
    pub(super) fn options(&self) -> ConnectionOptions {
        self.options.for_next_exchange(self.ends.subscribe())
    }

    pub(super) fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the part of a question's id between `ask-` and another `-`, which names the stream.
    pub(super) fn prefix(&self, number: u64) -> String {
        format!("{}.{number}", &self.id[..8])
    }

    /// Returns the stream that asked the question with this id.
    pub(super) fn asker(&self, id: &Id) -> Option<Arc<Stream>> {
        let prefix = id.as_json().strip_prefix("\"ask-")?.split('-').next()?;
        let (session, number) = prefix.split_once('.')?;
        let number = number.parse().ok().filter(|_| session == &self.id[..8])?;
        self.stream(number)
    }

    /// Returns the stream with this number.
    pub(super) fn stream(&self, number: u64) -> Option<Arc<Stream>> {
        match number {
            0 => Some(self.main.clone()),
            _ => self.lock().iter().find(|stream| stream.number == number).cloned(),
        }
    }

    /// Returns the open stream that answers the request with this id.
    pub(super) fn answering(&self, id: &Id) -> Option<Arc<Stream>> {
        self.lock().iter().find(|stream| stream.ids.contains(id) && !stream.is_over()).cloned()
    }

    /// Keeps a stream, and the latest few of those that are over.
    pub(super) fn add(&self, stream: &Arc<Stream>, limits: &HttpLimits) {
        let mut streams = self.lock();
        let (mut count, mut bytes) = (0, 0);
        let mut kept = Vec::with_capacity(streams.len() + 1);
        let mut forgotten = Vec::new();
        for stream in streams.drain(..).rev() {
            if stream.is_over() && !stream.is_read() {
                count += 1;
                bytes += stream.buffered_bytes();
                if count > limits.kept_streams || bytes > limits.kept_bytes.saturating_mul(4) {
                    forgotten.push(stream);
                    continue;
                }
            }
            kept.push(stream);
        }
        kept.reverse();
        kept.push(stream.clone());
        *streams = kept;
        drop(streams);
        // A stream may hold foreign values, so it is dropped outside of the lock.
        drop(forgotten);
    }

    /// Forgets a stream whose answer needed none.
    pub(super) fn forget(&self, number: u64) {
        let mut streams = self.lock();
        let at = streams.iter().position(|stream| stream.number == number);
        let forgotten = at.map(|at| streams.remove(at));
        drop(streams);
        drop(forgotten);
    }

    fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    fn is_idle(&self, limit: std::time::Duration) -> bool {
        let used = *self.used.lock();
        used.elapsed() >= limit && !self.main.is_read() && self.lock().iter().all(|stream| stream.is_over())
    }

    fn end(&self) {
        self.ends.send_replace(true);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Stream>>> {
        self.streams.lock()
    }
}

/// Returns an id that cannot be guessed.
pub(super) fn random_id() -> String {
    let mut bytes = [0; 20];
    // Without the system's randomness a session id could be guessed.
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

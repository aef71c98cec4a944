//! The state that all requests of an endpoint share: the server, the options, the sessions, and the shared limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::HeaderMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::refusal::Refusal;
use super::sessions::HttpSessions;
use super::sse::Conversations;
use super::{HttpOptions, ServedOn, Visitor};
use crate::server::{ConnectionOptions, Server};
use crate::wire::Id;

pub(super) struct Endpoint {
    pub server: Server,
    pub options: HttpOptions,
    pub sessions: HttpSessions,
    pub conversations: Conversations,
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    streams: Arc<Semaphore>,
    bodies: Arc<AtomicUsize>,
    /// Turns true when the endpoint shuts down.
    ends: watch::Sender<bool>,
}

/// The right to run, or to be open, until the slot is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    _permit: OwnedSemaphorePermit,
    _held: Option<HeldBytes>,
}

impl Slot {
    /// Keeps the body's bytes counted for as long as the slot.
    pub(super) fn with(self, held: HeldBytes) -> Slot {
        Slot { _held: Some(held), ..self }
    }
}

/// Bytes of a body that count towards the limit of all bodies until this is dropped.
#[derive(Debug)]
pub(super) struct HeldBytes {
    bytes: usize,
    all: Arc<AtomicUsize>,
}

impl HeldBytes {
    /// Counts more bytes; false if that exceeds the limit.
    pub(super) fn grow(&mut self, bytes: usize, limit: usize) -> bool {
        self.bytes += bytes;
        self.all.fetch_add(bytes, Ordering::Relaxed) + bytes <= limit
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Endpoint {
    pub(super) fn new(server: Server, options: HttpOptions) -> Endpoint {
        let limits = &options.limits;
        Endpoint {
            server,
            running: Arc::new(Semaphore::new(limits.running)),
            waiting: AtomicUsize::new(0),
            bodies: Arc::default(),
            streams: Arc::new(Semaphore::new(limits.streams)),
            sessions: HttpSessions::new(limits),
            conversations: Conversations::default(),
            ends: watch::channel(false).0,
            options,
        }
    }

    /// Returns the options of a client's connection.
    pub(super) fn options(&self, headers: &HeaderMap, principal: &str, on: ServedOn) -> ConnectionOptions {
        let connect = self.options.connect.as_ref();
        let mut options = connect.map(|connect| connect(Visitor { principal, headers, on })).unwrap_or_default();
        principal.clone_into(&mut options.principal);
        options.shutdown.get_or_insert_with(|| self.ends.subscribe());
        options
    }

    /// Waits for a slot to run in.
    pub(super) async fn slot(&self, id: Option<&Id>) -> Result<Slot, Refusal> {
        wait_for(&self.running, &self.waiting, self.options.limits.waiting, id).await
    }

    /// Returns a slot for a stream without an end, or a refusal at once.
    pub(super) fn stream_slot(&self, id: Option<&Id>) -> Result<Slot, Refusal> {
        match self.streams.clone().try_acquire_owned() {
            Ok(permit) => Ok(Slot { _permit: permit, _held: None }),
            Err(_) => Err(Refusal::busy(id, "open streams", self.options.limits.streams)),
        }
    }

    /// Begins to count the bytes of a body.
    pub(super) fn hold_body(&self) -> HeldBytes {
        HeldBytes { bytes: 0, all: self.bodies.clone() }
    }

    /// Resolves when no stream is open.
    pub(super) async fn is_quiet(&self) {
        let all = u32::try_from(self.options.limits.streams).unwrap_or(u32::MAX);
        // An error means that the semaphore is closed: there are no slots.
        let _ = self.streams.acquire_many(all).await;
    }

    /// Shuts down sessions and streams.
    pub(super) fn end(&self) {
        self.ends.send_replace(true);
        self.sessions.end_all();
    }
}

/// Waits for a slot, unless too many wait already.
pub(super) async fn wait_for(
    slots: &Arc<Semaphore>,
    waiting: &AtomicUsize,
    limit: usize,
    id: Option<&Id>,
) -> Result<Slot, Refusal> {
    if let Ok(permit) = slots.clone().try_acquire_owned() {
        return Ok(Slot { _permit: permit, _held: None });
    }
    struct WaitingCount<'a>(&'a AtomicUsize);
    impl Drop for WaitingCount<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let before = waiting.fetch_add(1, Ordering::Relaxed);
    let _count = WaitingCount(waiting);
    if before >= limit {
        return Err(Refusal::busy(id, "waiting requests", limit));
    }
    match slots.clone().acquire_owned().await {
        Ok(permit) => Ok(Slot { _permit: permit, _held: None }),
        Err(_) => Err(Refusal::busy(id, "running requests", 0)),
    }
}

//! Connections without an authorized request yet. They must not keep others out: each has limited time, and when all
//! places are taken the oldest of them is closed for a new one.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::request::Parts;
use tokio::sync::Notify;

/// The unauthenticated connections, oldest first.
#[derive(Clone, Default)]
pub(super) struct AdmissionQueue(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    last_number: u64,
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// A connection's place in the queue, until one of its requests is authorized.
pub(super) struct Admission {
    number: u64,
    all: AdmissionQueue,
    evicted: Arc<Notify>,
    authenticated: AtomicBool,
}

impl AdmissionQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock()
    }

    /// Adds a new connection.
    pub(super) fn enter(&self) -> Arc<Admission> {
        let evicted = Arc::new(Notify::new());
        let mut all = self.lock();
        all.last_number += 1;
        let number = all.last_number;
        all.waiting.insert(number, evicted.clone());
        Arc::new(Admission { number, all: self.clone(), evicted, authenticated: AtomicBool::new(false) })
    }

    /// Tells the oldest connection to close.
    pub(super) fn evict_oldest(&self) {
        let oldest = self.lock().waiting.pop_first();
        if let Some((_, evicted)) = oldest {
            evicted.notify_one();
        }
    }
}

impl Admission {
    /// Resolves when the connection must close: it was evicted, or its time is over. Never for an authenticated one.
    pub(super) async fn must_leave(&self, time: Duration) {
        tokio::select! {
            () = self.evicted.notified() => return,
            () = tokio::time::sleep(time) => {}
        }
        if self.all.lock().waiting.remove(&self.number).is_none() && self.authenticated.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// Attaches the connection to its request, where [`mark_authenticated`] finds it.
    pub(super) fn attach_to<B>(self: &Arc<Self>, request: &mut axum::http::Request<B>) {
        if !self.authenticated.load(Ordering::Relaxed) {
            request.extensions_mut().insert(self.clone());
        }
    }

    fn mark_authenticated(&self) -> bool {
        if self.all.lock().waiting.remove(&self.number).is_some() {
            self.authenticated.store(true, Ordering::Relaxed);
        }
        self.authenticated.load(Ordering::Relaxed)
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.all.lock().waiting.remove(&self.number);
    }
}

/// Notes that a request, and with it its connection, is authenticated. False if the connection was evicted in the same
/// moment: the request must then not be served, since its answer would be lost.
pub(super) fn mark_authenticated(parts: &Parts) -> bool {
    parts.extensions.get::<Arc<Admission>>().is_none_or(|admission| admission.mark_authenticated())
}

//! Connections that have not shown yet that they may come in: nobody is kept out by them. Each has a little time, and
//! when all places are taken the oldest of them leaves for whoever comes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use tokio::sync::Notify;

/// All of them, by when they came.
#[derive(Clone, Default)]
pub(super) struct AdmissionQueue(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    came: u64,
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// A connection, which is one of them until a request of it is let in.
pub(super) struct Admission {
    number: u64,
    all: AdmissionQueue,
    told: Arc<Notify>,
    is_in: AtomicBool,
}

impl AdmissionQueue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody who has just come.
    pub(super) fn enter(&self) -> Arc<Admission> {
        let told = Arc::new(Notify::new());
        let mut all = self.lock();
        all.came += 1;
        let number = all.came;
        all.waiting.insert(number, told.clone());
        Arc::new(Admission { number, all: self.clone(), told, is_in: AtomicBool::new(false) })
    }

    /// Tells the oldest of them to leave.
    pub(super) fn evict_oldest(&self) {
        let oldest = self.lock().waiting.pop_first();
        if let Some((_, told)) = oldest {
            told.notify_one();
        }
    }
}

impl Admission {
    /// Resolves when it has to leave, which nobody has to who was let in.
    pub(super) async fn must_leave(&self, time: Duration) {
        tokio::select! {
            () = self.told.notified() => return,
            () = tokio::time::sleep(time) => {}
        }
        if self.all.lock().waiting.remove(&self.number).is_none() && self.is_in.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// A request on its way in, which can be asked for the connection it comes from.
    pub(super) fn attach_to<B>(self: &Arc<Self>, request: &mut axum::http::Request<B>) {
        if !self.is_in.load(Ordering::Relaxed) {
            request.extensions_mut().insert(self.clone());
        }
    }

    fn authenticated(&self) -> bool {
        if self.all.lock().waiting.remove(&self.number).is_some() {
            self.is_in.store(true, Ordering::Relaxed);
        }
        self.is_in.load(Ordering::Relaxed)
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.all.lock().waiting.remove(&self.number);
    }
}

/// Takes note that a request was let in, and with it its connection. False if that was told to leave in the same moment:
/// then nothing may be done for it, since nobody would hear of it.
pub(super) fn authenticated(parts: &Parts) -> bool {
    parts.extensions.get::<Arc<Admission>>().is_none_or(|admission| admission.authenticated())
}

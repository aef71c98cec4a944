//! The view of the tree, and subscriptions to its changes. Pending batches of a slow subscriber are merged, never
//! dropped. Their size is bounded by the paths before plus the paths after.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};

use tokio::sync::Notify;

use crate::change::{Batch, ChangeKind, FileKind, Pending};
use crate::mode::Status;

/// A snapshot of the known paths, relative to the root, with their file kinds. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View(Arc<BTreeMap<Arc<Path>, FileKind>>);

impl View {
    /// Returns the paths in order: a directory comes before its contents.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<Path>, FileKind)> {
        self.0.iter().map(|(path, kind)| (path, *kind))
    }

    pub fn get(&self, path: &Path) -> Option<FileKind> {
        self.0.get(path).copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The batches that follow the view it was created with. It does not keep the watcher alive.
#[derive(Debug)]
pub struct Subscription(Arc<Slot>);

#[derive(Debug, Default)]
struct Slot {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    changes: Pending,
    has_ended: bool,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock()
    }
}

impl Subscription {
    /// Waits for the next batch, which is never empty. Returns `None` once the watcher has ended. Cancel safe: a batch
    /// is removed in the poll that returns it.
    pub async fn next(&mut self) -> Option<Batch> {
        loop {
            if let Some(batch) = self.try_next() {
                return Some(batch);
            }
            if self.0.lock().has_ended {
                return None;
            }
            self.0.arrived.notified().await;
        }
    }

    /// Returns the pending batch, if any, without waiting.
    pub fn try_next(&mut self) -> Option<Batch> {
        let mut waiting = self.0.lock();
        (!waiting.changes.is_empty()).then(|| waiting.changes.take())
    }
}

/// State that the watching thread writes and the handles read.
pub(crate) struct Publisher(Mutex<Published>);

struct Published {
    view: View,
    /// Number of batches published so far.
    batches: u64,
    status: Status,
    slots: Vec<Weak<Slot>>,
    has_ended: bool,
}

impl Publisher {
    pub(crate) fn new(status: Status) -> Self {
        Self(Mutex::new(Published { view: View::default(), batches: 0, status, slots: Vec::new(), has_ended: false }))
    }

    fn lock(&self) -> MutexGuard<'_, Published> {
        self.0.lock()
    }

    /// Delivers the changes to all subscribers.
    pub(crate) fn publish(&self, changes: &mut Pending, status: Status) {
        let mut published = self.lock();
        published.status = status;
        if changes.is_empty() {
            return;
        }
        published.batches += 1;
        let view = Arc::make_mut(&mut published.view.0);
        for (path, kind, file) in changes.iter() {
            match kind {
                ChangeKind::Removed => view.remove(path),
                ChangeKind::Created | ChangeKind::Modified => view.insert(path.clone(), file),
            };
        }
        published.slots.retain(|slot| {
            let Some(slot) = slot.upgrade() else { return false };
            let mut waiting = slot.lock();
            for (path, kind, file) in changes.iter() {
                waiting.changes.add(path, kind, file);
            }
            slot.arrived.notify_one();
            true
        });
        changes.take();
    }

    pub(crate) fn end(&self) {
        let mut published = self.lock();
        published.has_ended = true;
        for slot in published.slots.drain(..).filter_map(|slot| slot.upgrade()) {
            slot.lock().has_ended = true;
            slot.arrived.notify_one();
        }
    }

    pub(crate) fn subscribe(&self) -> (View, Subscription) {
        let mut published = self.lock();
        let slot = Arc::new(Slot::default());
        slot.lock().has_ended = published.has_ended;
        published.slots.retain(|slot| slot.strong_count() > 0);
        published.slots.push(Arc::downgrade(&slot));
        (published.view.clone(), Subscription(slot))
    }

    pub(crate) fn view(&self) -> View {
        self.lock().view.clone()
    }

    pub(crate) fn batches(&self) -> u64 {
        self.lock().batches
    }

    pub(crate) fn status(&self) -> Status {
        self.lock().status.clone()
    }
}

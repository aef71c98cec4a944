//! What others see of the tree: the view, and a subscription to what changes. A subscriber that does not listen gets its
//! batches as one; none is dropped, and what waits for it is never more than the paths before and after.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};

use tokio::sync::Notify;

use crate::change::{Batch, ChangeKind, FileKind, Pending};
use crate::mode::Status;

/// The paths known at one moment, relative to the root, with what they name. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View(Arc<BTreeMap<Arc<Path>, FileKind>>);

impl View {
    /// In the order of paths: a directory comes before what is in it.
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

/// The batches that come after the view it was made with. It does not keep the watcher.
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
    /// Waits for the next batch, which is never empty; nothing once the watcher has ended. Cancel safe: a batch is taken in
    /// the poll that returns it.
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

    /// What is there already.
    pub fn try_next(&mut self) -> Option<Batch> {
        let mut waiting = self.0.lock();
        (!waiting.changes.is_empty()).then(|| waiting.changes.take())
    }
}

/// What the watching thread writes and its handles read.
pub(crate) struct Publisher(Mutex<Published>);

struct Published {
    view: View,
    /// How many batches there were.
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

    /// Delivers the changes to everybody.
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

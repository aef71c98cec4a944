//! The way from calls and other tasks into a connection: notifications, progress, questions, finished calls. It never
//! blocks, and is bounded where a sender could run ahead. The connection takes everything out at once, as [`Inbound`].

use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::Limits;
use super::calls::{Key, Reply};
use crate::resource::Watcher;
use crate::tool::{Answers, Ask, AskError, LogLevel, NamedAsk, NotifyError, Progress};
use crate::wire::build;

/// Shared by a connection, which alone takes out, and everything that may send on it.
pub(super) struct SideChannel {
    inner: Mutex<Inner>,
    /// True if there is anything to take; read without the lock.
    filled: AtomicBool,
    /// The log level that the client set (handshake eras).
    level: Arc<AtomicU8>,
    /// The groups of unlisted tools that the client was given.
    listed: Arc<Mutex<BTreeSet<String>>>,
    /// Receives notifications once this one is closed.
    fallback: Option<Arc<SideChannel>>,
    closed: watch::Sender<bool>,
    /// Running calls that wait and take no slot.
    paused: AtomicUsize,
    max_paused: usize,
    /// True if calls wait for a slot.
    queued: AtomicBool,
    notifications: usize,
    notification_bytes: usize,
}

#[derive(Default)]
struct Inner {
    inbound: Inbound,
    /// Notifications that are not written yet, here or in the connection's output, and their bytes.
    unwritten: usize,
    unwritten_bytes: usize,
    closed: bool,
    waker: Option<Waker>,
}

/// All output sent since the connection last took it.
#[derive(Default)]
pub(super) struct Inbound {
    /// Notifications as whole lines.
    pub lines: Vec<u8>,
    /// The number of `lines`.
    pub notifications: usize,
    /// The latest progress of each call.
    pub progress: HashMap<Key, Progress>,
    /// Questions of calls.
    pub asks: Vec<(Key, PendingAsk)>,
    /// Watched resources that changed.
    pub updated: BTreeSet<String>,
    /// True if more tools are listed.
    pub more_tools: bool,
    /// Tasks that changed.
    pub tasks: BTreeSet<String>,
    /// The delay after which the client should reconnect.
    pub reconnect_after: Option<Duration>,
    /// Finished calls, in order.
    pub finished: Vec<(Key, Reply)>,
}

/// Questions of a call and the sender of their answers.
pub(super) struct PendingAsk {
    pub asks: Vec<(String, Ask)>,
    /// The questions' names that the tool chose.
    pub named: Option<NamedAsk>,
    pub answer: oneshot::Sender<Result<Answers, AskError>>,
}

impl Watcher for SideChannel {
    fn updated(&self, uri: &str) {
        let mut inner = self.lock();
        if !inner.closed {
            inner.inbound.updated.insert(uri.to_owned());
            self.wake(inner);
        }
    }
}

impl SideChannel {
    pub(super) fn new(limits: &Limits) -> SideChannel {
        SideChannel {
            inner: Mutex::default(),
            filled: AtomicBool::new(false),
            level: Arc::new(AtomicU8::new(LogLevel::Info as u8)),
            listed: Arc::default(),
            fallback: None,
            closed: watch::channel(false).0,
            paused: AtomicUsize::new(0),
            max_paused: limits.paused,
            queued: AtomicBool::new(false),
            notifications: limits.notifications,
            notification_bytes: limits.notification_bytes,
        }
    }

    /// Returns one of several side channels of a client: they share its log level and its listing of tools, whose
    /// changes are announced on `first`, which also gets the notifications once this one is closed.
    #[cfg(feature = "http")]
    pub(super) fn joined(limits: &Limits, first: Arc<SideChannel>) -> SideChannel {
        let (level, listed) = (first.level.clone(), first.listed.clone());
        SideChannel { level, listed, fallback: Some(first), ..SideChannel::new(limits) }
    }

    /// Wakes the connection although nothing was sent.
    #[cfg(feature = "http")]
    pub(super) fn nudge(&self) {
        self.wake(self.lock());
    }

    pub(super) fn notify(&self, method: &str, params: &str) -> Result<(), NotifyError> {
        let mut line = Vec::with_capacity(params.len() + method.len() + 48);
        build::notification(&mut line, method, Some(params));
        let mut inner = self.lock();
        if inner.closed {
            drop(inner);
            return self.fallback.as_ref().map_or(Err(NotifyError::Closed), |fallback| fallback.notify(method, params));
        }
        if inner.unwritten >= self.notifications || inner.unwritten_bytes + line.len() > self.notification_bytes {
            return Err(NotifyError::Full);
        }
        inner.unwritten += 1;
        inner.unwritten_bytes += line.len();
        let inbound = &mut inner.inbound;
        inbound.lines.extend_from_slice(&line);
        inbound.notifications += 1;
        self.wake(inner);
        Ok(())
    }

    /// Notes that this many notifications, of this many bytes, were written.
    pub(super) fn written(&self, count: usize, bytes: usize) {
        let mut inner = self.lock();
        inner.unwritten -= count;
        inner.unwritten_bytes -= bytes;
    }

    pub(super) fn progress(&self, call: Key, progress: Progress) {
        let mut inner = self.lock();
        if !inner.closed {
            inner.inbound.progress.insert(call, progress);
            self.wake(inner);
        }
    }

    pub(super) fn reconnect_after(&self, after: Duration) {
        let mut inner = self.lock();
        if !inner.closed {
            inner.inbound.reconnect_after = Some(after);
            self.wake(inner);
        }
    }

    pub(super) fn task_changed(&self, id: &str) {
        let mut inner = self.lock();
        if !inner.closed {
            inner.inbound.tasks.insert(id.to_owned());
            self.wake(inner);
        }
    }

    pub(super) fn ask(&self, call: Key, asking: PendingAsk) {
        let mut inner = self.lock();
        if !inner.closed {
            inner.inbound.asks.push((call, asking));
            self.wake(inner);
        }
    }

    pub(super) fn finish(&self, call: Key, reply: Reply) {
        let mut inner = self.lock();
        if !inner.closed {
            inner.inbound.finished.push((call, reply));
            self.wake(inner);
        }
    }

    /// Frees a slot for as long as a call waits; false if there are too many such calls.
    pub(super) fn pause(&self) -> bool {
        let one_more = |paused: usize| (paused < self.max_paused).then_some(paused + 1);
        let is_paused = self.paused.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more).is_ok();
        // In one order with `queue`: either the connection is woken, or it has seen the free slot.
        if is_paused && self.queued.load(Ordering::SeqCst) {
            self.wake(self.lock());
        }
        is_paused
    }

    /// Resumes a paused call, even if no slot is free: it had one.
    pub(super) fn unpause(&self) {
        self.paused.fetch_sub(1, Ordering::SeqCst);
    }

    /// Returns the number of running that calls take no slot.
    pub(super) fn paused(&self) -> usize {
        self.paused.load(Ordering::SeqCst)
    }

    /// Notes whether calls wait for a slot. The caller then has to check once more for a free one.
    pub(super) fn queue(&self, is_queued: bool) {
        if self.queued.load(Ordering::Relaxed) != is_queued {
            self.queued.store(is_queued, Ordering::SeqCst);
        }
    }

    /// Adds the unlisted tools of a group to the listing.
    pub(super) fn list_more(&self, group: &str) {
        if !self.listed.lock().insert(group.to_owned()) {
            return;
        }
        let announcing = self.fallback.as_deref().unwrap_or(self);
        let mut inner = announcing.lock();
        if !inner.closed {
            inner.inbound.more_tools = true;
            announcing.wake(inner);
        }
    }

    /// Returns the groups of unlisted tools that the client was given.
    pub(super) fn listed(&self) -> BTreeSet<String> {
        self.listed.lock().clone()
    }

    /// Returns true if there is anything to take.
    pub(super) fn has_inbound(&self) -> bool {
        self.filled.load(Ordering::Acquire)
    }

    pub(super) fn take(&self) -> Inbound {
        let mut inner = self.lock();
        self.filled.store(false, Ordering::Release);
        std::mem::take(&mut inner.inbound)
    }

    /// Sets the task to wake when something is sent.
    pub(super) fn register(&self, waker: &Waker) {
        let mut inner = self.lock();
        match &mut inner.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Closes the channel: nothing more is accepted, and tasks that wait for the end are woken.
    pub(super) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        // Dropping replies runs foreign code, which may call back here, so it happens outside of the lock.
        let inbound = std::mem::take(&mut inner.inbound);
        inner.waker = None;
        drop(inner);
        drop(inbound);
        self.closed.send_replace(true);
    }

    pub(super) fn closed(&self) -> watch::Receiver<bool> {
        self.fallback.as_ref().map_or_else(|| self.closed.subscribe(), |fallback| fallback.closed())
    }

    pub(super) fn level(&self) -> u8 {
        self.level.load(Ordering::Relaxed)
    }

    pub(super) fn set_level(&self, level: LogLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    fn wake(&self, inner: MutexGuard<'_, Inner>) {
        let first = !self.filled.swap(true, Ordering::AcqRel);
        // If the channel was not empty, the connection has been woken already.
        let waker = if first { inner.waker.clone() } else { None };
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

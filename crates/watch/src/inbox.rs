//! Where the watching thread finds its work: paths that were heard of, and what callers ask. Nobody who puts something in
//! ever waits for the thread, because the kernel keeps only so many events.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::SyncError;

/// Paths heard of at most before a full scan is the shorter way.
const MAX_DIRTY: usize = 65_536;

/// What was heard of a path, besides that something happened to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Its content was written, even if no time stamp shows it.
    pub(crate) written: bool,
    /// It came, went or moved: what is known below it holds no longer.
    pub(crate) moved: bool,
}

pub(crate) type Dirty = BTreeMap<PathBuf, Heard>;
pub(crate) type Reply = oneshot::Sender<Result<(), SyncError>>;

#[derive(Default)]
struct State {
    /// Counts the inotify instances; what an earlier one still says is not heard.
    epoch: u64,
    dirty: Dirty,
    first: Option<Instant>,
    last: Option<Instant>,
    lost: bool,
    cookie: bool,
    syncs: Vec<Reply>,
    is_stopped: bool,
    has_ended: bool,
}

#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

/// When the thread wants to be woken at the latest, and for what.
#[derive(Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) quiet: Duration,
    pub(crate) max_delay: Duration,
    /// A cookie is on its way, and is overdue then.
    pub(crate) cookie_until: Option<Instant>,
    pub(crate) poll_at: Option<Instant>,
    /// No rescan before, unless somebody waits for it.
    pub(crate) rescan_at: Instant,
}

pub(crate) enum Work {
    Stop,
    /// Events are lost, or the cookie is overdue.
    Rescan,
    /// What was heard is to be looked at; with the cookie, if that came.
    Look(Dirty, bool),
    /// Somebody waits, and no cookie is on its way.
    Sync,
    Poll,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn heard(&self, epoch: u64, path: PathBuf, heard: Heard) {
        let mut state = self.lock();
        if state.epoch != epoch || state.lost {
            return;
        }
        let now = Instant::now();
        state.last = Some(now);
        let before = state.dirty.entry(path).or_default();
        before.written |= heard.written;
        before.moved |= heard.moved;
        if state.dirty.len() > MAX_DIRTY {
            drop(state);
            return self.lost(epoch);
        }
        // The thread knows when to look at more of the same.
        if state.first.is_none() {
            state.first = Some(now);
            self.changed.notify_one();
        }
    }

    pub(crate) fn lost(&self, epoch: u64) {
        let mut state = self.lock();
        if state.epoch == epoch {
            state.lost = true;
            state.dirty.clear();
            self.changed.notify_one();
        }
    }

    pub(crate) fn cookie(&self, epoch: u64) {
        let mut state = self.lock();
        if state.epoch == epoch {
            state.cookie = true;
            self.changed.notify_one();
        }
    }

    pub(crate) fn sync(&self, reply: Reply) {
        let mut state = self.lock();
        if state.has_ended {
            return;
        }
        state.syncs.retain(|other| !other.is_closed());
        state.syncs.push(reply);
        self.changed.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_one();
    }

    /// There is no thread any longer: who waits is told by the dropped reply.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        state.syncs.clear();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// A new beginning: whatever was heard is told by the full scan that follows.
    pub(crate) fn begin_epoch(&self) -> u64 {
        let mut state = self.lock();
        let syncs = std::mem::take(&mut state.syncs);
        *state = State { epoch: state.epoch + 1, syncs, is_stopped: state.is_stopped, ..State::default() };
        state.epoch
    }

    pub(crate) fn take_syncs(&self) -> Vec<Reply> {
        std::mem::take(&mut self.lock().syncs)
    }

    /// Waits for something to do.
    pub(crate) fn wait(&self, schedule: &Schedule) -> Work {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            let quiet_at = state.last.map(|last| last + schedule.quiet);
            let look_at = quiet_at.zip(state.first).map(|(quiet, first)| quiet.min(first + schedule.max_delay));
            let is_awaited = schedule.cookie_until.is_some() || !state.syncs.is_empty();
            let rescan_at = state.lost.then_some(schedule.rescan_at);
            if state.is_stopped {
                return Work::Stop;
            }
            if is_due(rescan_at) || (state.lost && is_awaited) || (is_due(schedule.cookie_until) && !state.cookie) {
                return Work::Rescan;
            }
            if state.cookie || is_due(look_at) {
                (state.first, state.last) = (None, None);
                let cookie = std::mem::take(&mut state.cookie);
                return Work::Look(std::mem::take(&mut state.dirty), cookie);
            }
            if !state.syncs.is_empty() && schedule.cookie_until.is_none() {
                return Work::Sync;
            }
            if is_due(schedule.poll_at) {
                return Work::Poll;
            }
            let next = [look_at, rescan_at, schedule.cookie_until, schedule.poll_at].into_iter().flatten().min();
            state = match next {
                Some(at) => {
                    let waited = self.changed.wait_timeout(state, at.saturating_duration_since(now));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

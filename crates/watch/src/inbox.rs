//! The queue of the watching thread: reported paths and requests of callers. Adding to it never waits for the thread,
//! because the kernel's event queue is bounded.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::SyncError;

/// Maximum number of reported paths. Above it a full scan is faster.
const MAX_DIRTY: usize = 65_536;

/// Details of an event, besides the fact that it occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventDetail {
    /// The content was written, even if no time stamp shows it.
    pub(crate) written: bool,
    /// The path was created, removed or moved. The known paths below it may be outdated.
    pub(crate) moved: bool,
}

pub(crate) type Dirty = BTreeMap<PathBuf, EventDetail>;
pub(crate) type Reply = oneshot::Sender<Result<(), SyncError>>;

#[derive(Default)]
struct State {
    /// Number of the current inotify instance. Events of earlier instances are ignored.
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

/// Deadlines at which the thread wants to wake, by purpose.
#[derive(Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) quiet: Duration,
    pub(crate) max_delay: Duration,
    /// Deadline of the cookie that was sent.
    pub(crate) cookie_until: Option<Instant>,
    pub(crate) poll_at: Option<Instant>,
    /// Earliest time of the next rescan, unless a caller is waiting for it.
    pub(crate) rescan_at: Instant,
}

pub(crate) enum Work {
    Stop,
    /// Events were lost, or the cookie is overdue.
    Rescan,
    /// Paths to examine, and whether the cookie arrived.
    Look(Dirty, bool),
    /// A caller is waiting and no cookie has been sent.
    Sync,
    Poll,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn report(&self, epoch: u64, path: PathBuf, detail: EventDetail) {
        let mut state = self.lock();
        if state.epoch != epoch || state.lost {
            return;
        }
        let now = Instant::now();
        state.last = Some(now);
        let before = state.dirty.entry(path).or_default();
        before.written |= detail.written;
        before.moved |= detail.moved;
        if state.dirty.len() > MAX_DIRTY {
            drop(state);
            return self.mark_lost(epoch);
        }
        // The thread already has a deadline for further paths.
        if state.first.is_none() {
            state.first = Some(now);
            self.changed.notify_one();
        }
    }

    pub(crate) fn mark_lost(&self, epoch: u64) {
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

    /// Marks the thread as ended. Dropped replies notify the waiting callers.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        state.syncs.clear();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Starts an epoch. Earlier reports are discarded, because a full scan follows.
    pub(crate) fn begin_epoch(&self) -> u64 {
        let mut state = self.lock();
        let syncs = std::mem::take(&mut state.syncs);
        *state = State { epoch: state.epoch + 1, syncs, is_stopped: state.is_stopped, ..State::default() };
        state.epoch
    }

    pub(crate) fn take_syncs(&self) -> Vec<Reply> {
        std::mem::take(&mut self.lock().syncs)
    }

    /// Waits for work.
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

//! Everything a program printed, by absolute offsets, within fixed bounds.
//!
//! Appended bytes go to a ring in memory at once, and to files soon after, by a thread of the log's own: a slow or full
//! disk delays no caller. What is dropped from both is counted exactly. The files of a dead session can be opened
//! again. Bytes are kept as they came; making them readable is the business of [`text`].
//!
//! Start here: [`OutputLog`]. Then `ring.rs` (memory), `segment.rs` (format on disk), `writer.rs` (the thread), `read.rs`.

mod excerpt_text;
mod read;
mod record;
mod ring;
mod segment;
pub mod text;
mod writer;

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, LockResult, Mutex, MutexGuard, PoisonError, WaitTimeoutResult};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use tokio::sync::watch;

pub use read::{Cut, Found, Piece, Query, Slice, Take};
pub use record::{Counts, Printed, Record, Stream};
use ring::Ring;
use segment::Segment;

/// How much is kept.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes in memory. Taken only as they are needed.
    pub memory: usize,
    /// Records in memory; more are made only by a program that changes streams at nearly every byte.
    pub records: usize,
    /// Bytes on disk, indexes included.
    pub disk: u64,
    /// How many evaluations can be asked for by their number, the newest ones.
    pub evals: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 4 << 20, records: 1 << 16, disk: 256 << 20, evals: 1 << 14 }
    }
}

/// The log. Cheap to clone. The files are complete soon after the last clone was dropped, or after [`OutputLog::flush`].
#[derive(Clone)]
pub struct OutputLog {
    shared: Arc<Shared>,
    /// Ends the writing thread with the last clone; readers of the shared state do not keep it.
    _keeper: Arc<Keeper>,
}

/// Where the log stands with the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disk {
    /// It was made without files.
    None,
    /// Files are written.
    Writing,
    /// The last attempt failed: only memory is kept, and it is tried again later. With what the system said.
    Failing(String),
    /// These are the files of a former life; nothing can be appended.
    Closed,
}

/// What the log holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// How much was ever appended, per stream.
    pub total: Counts,
    /// How much of it is no longer kept anywhere.
    pub dropped: Counts,
    /// From this offset on, reading needs no disk.
    pub memory_from: u64,
    /// The oldest offset that is kept.
    pub oldest: u64,
    /// The offset after the last byte.
    pub end: u64,
    /// Where it stands with the disk.
    pub disk: Disk,
    /// Files that were found damaged when the log was opened, and were left out.
    pub damaged: usize,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    /// Work for the writing thread.
    work: Condvar,
    /// Progress of the writing thread.
    progress: Condvar,
    end: watch::Sender<u64>,
    directory: Option<PathBuf>,
    /// The open directory, locked while the log may be written to.
    _lock: Option<File>,
    began: (Instant, u64),
}

pub(crate) struct State {
    ring: Ring,
    total: Counts,
    segments: Vec<Segment>,
    /// Everything before this offset is on disk or was given up.
    written: u64,
    evals: BTreeMap<u64, Printed>,
    /// Older ones were there.
    evals_forgotten: bool,
    /// They were put together from files in which something is missing.
    evals_partial: bool,
    limits: Limits,
    disk: Disk,
    damaged: usize,
    /// The writing thread waits for work.
    idle: bool,
    /// It was too slow once, and no one waits for it until it has caught up.
    lagging: bool,
    closing: bool,
    /// Someone waits for everything to be on disk.
    flushing: bool,
}

struct Keeper(Arc<Shared>);

impl OutputLog {
    /// Whether a log that can still be appended to, of this process or another, is kept in the directory. Ask before
    /// removing it.
    pub fn is_in_use(directory: &Path) -> bool {
        let lock = File::open(directory).and_then(|open| Ok(flock(&open, FlockOperation::NonBlockingLockShared)?));
        lock.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// An empty log; with a directory, which is made if need be and must hold no other log, it is kept on disk too.
    ///
    /// # Errors
    /// When the directory cannot be made. Later failures of the disk are a matter of [`Status::disk`].
    pub fn create(directory: Option<&Path>, limits: Limits) -> io::Result<OutputLog> {
        let mut lock = None;
        if let Some(directory) = directory {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            // A lock that cannot be had, on a file system without locks, protects nothing, and is no reason to fail.
            lock = locked(directory).ok();
            let (segments, damaged) = Segment::find_all(directory)?;
            if !segments.is_empty() || damaged > 0 {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "the directory holds the output of another session",
                ));
            }
        }
        OutputLog::written_to(State::new(limits), directory, lock)
    }

    /// The log of a former life, to be gone on with: what is appended follows what is there.
    ///
    /// # Errors
    /// When the directory cannot be read, or the log is in use. Damaged files are left out and counted in
    /// [`Status::damaged`].
    pub fn reopen(directory: &Path, limits: Limits) -> io::Result<OutputLog> {
        let lock = match locked(directory) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            lock => lock.ok(),
        };
        let mut state = State::read(directory, limits)?;
        // A crash may leave files without content behind, where the next segment goes.
        Segment::clear_from(directory, state.written)?;
        state.segments.retain(|segment| segment.len > 0);
        OutputLog::written_to(state, Some(directory), lock)
    }

    /// The log of a session that is over, to be read.
    ///
    /// # Errors
    /// When the directory cannot be read. Damaged files are left out and counted in [`Status::damaged`].
    pub fn open(directory: &Path) -> io::Result<OutputLog> {
        let mut state = State::read(directory, Limits::default())?;
        (state.disk, state.idle, state.closing) = (Disk::Closed, true, true);
        Ok(OutputLog::with(state, Some(directory), None))
    }

    fn written_to(mut state: State, directory: Option<&Path>, lock: Option<File>) -> io::Result<OutputLog> {
        if directory.is_some() {
            state.disk = Disk::Writing;
        }
        let log = OutputLog::with(state, directory, lock);
        if directory.is_some() {
            let shared = log.shared.clone();
            std::thread::Builder::new().name("output-log".into()).spawn(move || writer::run(&shared))?;
        }
        Ok(log)
    }

    fn with(state: State, directory: Option<&Path>, lock: Option<File>) -> OutputLog {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began = (Instant::now(), u64::try_from(now.as_micros()).unwrap_or(u64::MAX));
        let end = watch::Sender::new(state.ring.end());
        let (work, progress) = (Condvar::new(), Condvar::new());
        let directory = directory.map(Path::to_owned);
        let shared = Arc::new(Shared { state: Mutex::new(state), work, progress, end, directory, _lock: lock, began });
        OutputLog { _keeper: Arc::new(Keeper(shared.clone())), shared }
    }

    /// Appends bytes; returns the offset of the first. Never waits for the disk beyond a few hundredths of a second, and
    /// that only when a flood is faster than a disk which is otherwise well. Does nothing on a log that was only opened.
    pub fn append(&self, stream: Stream, eval: Option<u64>, bytes: &[u8]) -> u64 {
        let (instant, micros) = self.shared.began;
        let at = micros + u64::try_from(instant.elapsed().as_micros()).unwrap_or(0);
        let mut state = self.shared.state();
        let from = state.ring.end();
        if state.disk == Disk::Closed {
            return from;
        }
        // In parts that leave the thread time to bring the older ones to safety.
        let part = (state.ring.max_bytes() / 4).max(1);
        for bytes in bytes.chunks(part) {
            state = self.shared.make_room(state, bytes.len());
            let record = state.ring.append(stream, eval, at, bytes);
            state.total += record.counts();
            let limit = state.limits.evals;
            let forgotten = note(&mut state.evals, limit, &record);
            state.evals_forgotten |= forgotten;
        }
        let end = state.ring.end();
        let wake = state.disk != Disk::None && (state.idle || state.much_to_write());
        drop(state);
        if wake {
            self.shared.work.notify_one();
        }
        self.shared.end.send_replace(end);
        from
    }

    /// The offset after the last byte, and news of it.
    pub fn end(&self) -> watch::Receiver<u64> {
        self.shared.end.subscribe()
    }

    /// What it holds, and what it lost.
    pub fn status(&self) -> Status {
        let state = self.shared.state();
        Status {
            total: state.total,
            dropped: state.dropped(),
            memory_from: state.ring.start(),
            oldest: state.oldest(),
            end: state.ring.end(),
            disk: state.disk.clone(),
            damaged: state.damaged,
        }
    }

    /// What an evaluation printed in all; `None` if it printed nothing, or is too long ago.
    pub fn printed(&self, eval: u64) -> Option<Printed> {
        self.shared.state().evals.get(&eval).copied()
    }

    /// Where its files are.
    pub fn directory(&self) -> Option<&Path> {
        self.shared.directory.as_deref()
    }

    /// The newest evaluation that printed anything that is kept.
    pub fn last_eval(&self) -> Option<u64> {
        self.shared.state().evals.keys().next_back().copied()
    }

    /// Waits until everything so far is on disk, or the disk fails, or the time is over. True when it is on disk. Blocks.
    pub fn flush(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut state = self.shared.state();
        let goal = state.ring.end();
        while state.written < goal && state.disk == Disk::Writing {
            state.flushing = true;
            self.shared.work.notify_one();
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.waited(self.shared.progress.wait_timeout(state, left));
        }
        state.disk == Disk::Writing || state.disk == Disk::Closed
    }
}

/// The directory, locked for the writer.
fn locked(directory: &Path) -> io::Result<File> {
    let open = File::open(directory)?;
    flock(&open, FlockOperation::NonBlockingLockExclusive)?;
    Ok(open)
}

/// Enters a record into its evaluation's account. True when the oldest evaluation was forgotten over it.
fn note(evals: &mut BTreeMap<u64, Printed>, limit: usize, record: &Record) -> bool {
    let Some(eval) = record.eval else { return false };
    let printed = Printed::add(evals.get(&eval).copied(), record);
    evals.insert(eval, printed);
    let forget = evals.len() > limit;
    if forget {
        evals.pop_first();
    }
    forget
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waited<'a>(&self, outcome: LockResult<(MutexGuard<'a, State>, WaitTimeoutResult)>) -> MutexGuard<'a, State> {
        outcome.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits a moment, if what would fall out of memory is not on disk yet, and there is hope that it soon will be.
    fn make_room<'a>(&'a self, mut state: MutexGuard<'a, State>, more: usize) -> MutexGuard<'a, State> {
        const PATIENCE: Duration = Duration::from_millis(25);
        let until = Instant::now() + PATIENCE;
        loop {
            let unsaved = state.ring.end() - state.written.clamp(state.ring.start(), state.ring.end());
            let fits = unsaved + more as u64 <= state.ring.max_bytes() as u64;
            if fits || state.lagging || state.disk != Disk::Writing {
                return state;
            }
            self.work.notify_one();
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state.lagging = true;
                return state;
            }
            state = self.waited(self.progress.wait_timeout(state, left));
        }
    }
}

impl State {
    /// Nothing yet, on no disk.
    fn new(limits: Limits) -> State {
        State {
            ring: Ring::new(limits.memory.max(1), limits.records.max(1)),
            total: Counts::default(),
            segments: Vec::new(),
            written: 0,
            evals: BTreeMap::new(),
            evals_forgotten: false,
            evals_partial: false,
            limits,
            disk: Disk::None,
            damaged: 0,
            idle: false,
            lagging: false,
            closing: false,
            flushing: false,
        }
    }

    /// What a directory holds.
    fn read(directory: &Path, limits: Limits) -> io::Result<State> {
        let mut state = State::new(limits);
        (state.segments, state.damaged) = Segment::find_all(directory)?;
        for segment in &state.segments {
            segment.open(directory)?.each_from(0, |record| {
                state.evals_forgotten |= note(&mut state.evals, state.limits.evals, &record);
                true
            })?;
        }
        (state.written, state.total) =
            state.segments.last().map_or_else(Default::default, |last| (last.end(), last.after));
        state.ring = state.ring.at(state.written, state.total);
        state.evals_partial = state.dropped() != Counts::default();
        Ok(state)
    }

    /// What is in no segment and not in the ring.
    fn dropped(&self) -> Counts {
        let mut lost = Counts::default();
        let mut covered = (0, Counts::default());
        for segment in self.segments.iter().take_while(|segment| segment.base < self.ring.start()) {
            lost += segment.before - covered.1;
            covered = (segment.end(), segment.after);
        }
        if self.ring.start() > covered.0 {
            lost += self.ring.before() - covered.1;
        }
        lost
    }

    fn oldest(&self) -> u64 {
        self.segments.first().map_or(self.ring.start(), |first| first.base.min(self.ring.start()))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.state().closing = true;
        self.0.work.notify_all();
    }
}

impl std::fmt::Debug for OutputLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputLog").field("status", &self.status()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

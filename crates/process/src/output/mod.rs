//! The complete output of a program, by absolute offset, within fixed limits.
//!
//! Appended bytes go to a ring in memory at once. The log's own thread writes them to files soon after: a slow or full
//! disk delays no caller. Bytes dropped from both are counted exactly. The files of an ended session can be opened
//! again. Bytes are kept as printed; [`text`] makes them readable.
//!
//! Start here: [`OutputLog`]. Then `ring.rs` (memory), `segment.rs` (format on disk), `writer.rs` (the thread),
//! `read.rs`.

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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LockResult, Mutex, MutexGuard, PoisonError, WaitTimeoutResult};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use tokio::sync::watch;

pub use read::{Cut, FoundLine, Piece, Query, Slice, Take};
pub use record::{Counts, Printed, Record, Stream};
use ring::Ring;
use segment::Segment;

/// The limits of a log.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes in memory, allocated as needed.
    pub memory: usize,
    /// Records in memory. Only a program that changes streams at nearly every byte reaches this bound.
    pub records: usize,
    /// Bytes on disk, indexes included.
    pub disk: u64,
    /// The number of evaluations, the newest ones, that can be queried by number.
    pub evals: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 4 << 20, records: 1 << 16, disk: 256 << 20, evals: 1 << 14 }
    }
}

/// The log. Cheap to clone. Its files are complete soon after the last clone is dropped, or after [`OutputLog::flush`].
#[derive(Clone)]
pub struct OutputLog {
    shared: Arc<Shared>,
    /// Ends the writing thread when the last clone is dropped; readers of the shared state do not hold it.
    _keeper: Arc<Keeper>,
}

/// The state of the log's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disk {
    /// The log was created without files.
    None,
    /// Files are written.
    Writing,
    /// The last write failed with this error of the system. Only memory is kept; writing is retried later.
    Failing(String),
    /// These are the files of an ended session; nothing can be appended.
    Closed,
}

/// The contents of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Bytes ever appended, per stream.
    pub total: Counts,
    /// Bytes that are no longer kept anywhere, per stream.
    pub dropped: Counts,
    /// Reading from this offset on needs no disk.
    pub memory_from: u64,
    /// The oldest offset that is kept.
    pub oldest: u64,
    /// The offset after the last byte.
    pub end: u64,
    /// The state of the log's files.
    pub disk: Disk,
    /// Files that were damaged when the log was opened, and were left out.
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
    /// The time of the last append in microseconds since 1970; 0 before the first.
    last_at: AtomicU64,
}

pub(crate) struct State {
    ring: Ring,
    total: Counts,
    segments: Vec<Segment>,
    /// Everything before this offset is on disk or was dropped.
    written: u64,
    evals: BTreeMap<u64, Printed>,
    /// True if older evaluations were forgotten.
    evals_forgotten: bool,
    /// True if the evaluations were rebuilt from files in which something is missing.
    evals_partial: bool,
    limits: Limits,
    disk: Disk,
    damaged: usize,
    /// True if the writing thread waits for work.
    idle: bool,
    /// True if the thread was too slow once; no caller waits for it until it has caught up.
    lagging: bool,
    closing: bool,
    /// True if a caller waits until everything is on disk.
    flushing: bool,
}

struct Keeper(Arc<Shared>);

impl OutputLog {
    /// Returns true if the directory holds a log that this process or another may still append to. Check it before removing the directory.
    pub fn is_in_use(directory: &Path) -> bool {
        let lock = File::open(directory).and_then(|open| Ok(flock(&open, FlockOperation::NonBlockingLockShared)?));
        lock.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Creates an empty log. With a directory, it is kept on disk too: the directory is created if necessary and must
    /// hold no other log.
    ///
    /// # Errors
    /// When the directory cannot be created. [`Status::disk`] reports later failures of the disk.
    pub fn create(directory: Option<&Path>, limits: Limits) -> io::Result<OutputLog> {
        let mut lock = None;
        if let Some(directory) = directory {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            // Some file systems have no locks and thus no protection; the log must still work there.
            lock = locked(directory).ok();
            let (segments, damaged) = Segment::find_all(directory)?;
            if !segments.is_empty() || damaged > 0 {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "the directory contains the output of another session",
                ));
            }
        }
        OutputLog::written_to(State::new(limits), directory, lock)
    }

    /// Reopens the log of an earlier daemon to continue it: new bytes follow the existing ones.
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
        // A crash may leave empty files behind where the next segment goes.
        Segment::clear_from(directory, state.written)?;
        state.segments.retain(|segment| segment.len > 0);
        OutputLog::written_to(state, Some(directory), lock)
    }

    /// Opens the log of an ended session, for reading.
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
        let (state, last_at) = (Mutex::new(state), AtomicU64::new(0));
        let shared = Arc::new(Shared { state, work, progress, end, directory, _lock: lock, began, last_at });
        OutputLog { _keeper: Arc::new(Keeper(shared.clone())), shared }
    }

    /// Appends bytes; returns the offset of the first. Waits for the disk for at most some hundredths of a second, and
    /// only if a flood is faster than a healthy disk. Does nothing on a log that was only opened.
    pub fn append(&self, stream: Stream, eval: Option<u64>, bytes: &[u8]) -> u64 {
        let (instant, micros) = self.shared.began;
        let at = micros + u64::try_from(instant.elapsed().as_micros()).unwrap_or(0);
        let mut state = self.shared.state();
        let from = state.ring.end();
        if state.disk == Disk::Closed {
            return from;
        }
        // Append in parts, so that the thread has time to save the older ones.
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
        self.shared.last_at.store(at, Ordering::Relaxed);
        self.shared.end.send_replace(end);
        from
    }

    /// Returns the time of the last append in milliseconds since 1970; `None` before the first.
    pub fn last_append_ms(&self) -> Option<u64> {
        Some(self.shared.last_at.load(Ordering::Relaxed) / 1000).filter(|at| *at > 0)
    }

    /// Returns the offset after the last byte, with notification of changes.
    pub fn end(&self) -> watch::Receiver<u64> {
        self.shared.end.subscribe()
    }

    /// Returns the contents of the log, and the dropped counts.
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

    /// Returns the totals of an evaluation; `None` if it printed nothing, or was forgotten.
    pub fn printed(&self, eval: u64) -> Option<Printed> {
        self.shared.state().evals.get(&eval).copied()
    }

    /// Returns the directory of the log's files.
    pub fn directory(&self) -> Option<&Path> {
        self.shared.directory.as_deref()
    }

    /// Returns the newest evaluation that has kept output.
    pub fn last_eval(&self) -> Option<u64> {
        self.shared.state().evals.keys().next_back().copied()
    }

    /// Waits until everything appended so far is on disk, the disk fails, or `limit` has passed. True when everything
    /// is on disk. Blocks.
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

/// Opens and locks the directory for the writer.
fn locked(directory: &Path) -> io::Result<File> {
    let open = File::open(directory)?;
    flock(&open, FlockOperation::NonBlockingLockExclusive)?;
    Ok(open)
}

/// Adds a record to its evaluation's totals. Returns true if this made the log forget the oldest evaluation.
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

    /// Waits briefly if the bytes that would fall out of memory are not on disk yet, but probably soon will be.
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
    /// Returns an empty state without files.
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

    /// Returns the state that a directory's files describe.
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

    /// Returns the counts of bytes that are neither in a segment nor in the ring.
    fn dropped(&self) -> Counts {
        let mut lost = Counts::default();
        let mut covered = (0, Counts::default());
        for segment in self.segments.iter().take_while(|segment| segment.base < self.ring.start()) {
            lost += segment.before - covered.1;
            covered = (segment.end(), segment.after);
        }
        if self.ring.start() > covered.0 {
            lost += self.ring.counts_before_start() - covered.1;
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

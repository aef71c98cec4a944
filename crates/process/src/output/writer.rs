//! The thread that writes a log to disk.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::record::{Counts, Record};
use super::segment::{HEADER, ROW, Segment, Writer};
use super::{Disk, Shared, State};

/// The time for which bytes gather before they are written, so that a session with many small outputs costs few wake-ups.
const GATHER: Duration = Duration::from_millis(20);
/// For this long after a write, the thread polls every [`GATHER`]: a busy session need not wake it each time.
const AWAKE: Duration = Duration::from_secs(1);
/// The number of bytes that is written without waiting.
const SOON: u64 = 256 << 10;
/// Maximum bytes written at once.
const CHUNK: u64 = 256 << 10;
/// The pause before a retry after a failure.
const RETRY: Duration = Duration::from_secs(2);
/// The number of segments in a full disk share; the oldest is dropped.
const SEGMENTS: u64 = 16;

/// The next bytes to write.
struct Chunk {
    bytes: Vec<u8>,
    records: Vec<Record>,
    before: Counts,
    start: u64,
}

/// Runs until the log is closed and everything is written or writing has failed.
pub(super) fn run(shared: &Shared) {
    let Some(directory) = &shared.directory else { return };
    let mut open: Option<Writer> = None;
    let mut chunk = Chunk { bytes: Vec::new(), records: Vec::new(), before: Counts::default(), start: 0 };
    let mut failed: Option<Instant> = None;
    let mut wrote: Option<Instant> = None;
    while wait_for_work(shared, failed, wrote) {
        wrote = Some(Instant::now());
        if failed.is_some() && shared.state().closing {
            // The log is closed: the data in memory gets one last attempt.
            failed = None;
        }
        while take(shared, &mut chunk) {
            match write(shared, directory, &mut open, &chunk) {
                Ok(()) => {
                    if failed.take().is_some() {
                        tracing::info!(directory = %directory.display(), "output is written to disk again");
                    }
                }
                Err(error) => {
                    open = None;
                    if failed.replace(Instant::now()).is_none() {
                        tracing::warn!(directory = %directory.display(), %error, "output is kept in memory only");
                    }
                    let mut state = shared.state();
                    state.disk = Disk::Failing(error.to_string());
                    let closing = state.closing;
                    drop(state);
                    shared.progress.notify_all();
                    if closing {
                        return;
                    }
                    break;
                }
            }
        }
        // A large flood should not leave its buffer behind in an idle session.
        chunk.bytes.shrink_to(16 << 10);
    }
}

/// Waits for work. Returns false when the log is closed and everything is written.
fn wait_for_work(shared: &Shared, failed: Option<Instant>, wrote: Option<Instant>) -> bool {
    let mut state = shared.state();
    let awake_until = wrote.map(|wrote| wrote + AWAKE);
    let mut gathered = false;
    // Sleep until there is anything to write …
    while state.written >= state.ring.end() {
        if state.closing {
            return false;
        }
        gathered = awake_until.is_some_and(|until| Instant::now() < until);
        if gathered {
            state = shared.waited(shared.work.wait_timeout(state, GATHER));
        } else {
            state.idle = true;
            state = shared.work.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
            state.idle = false;
        }
    }
    if gathered && failed.is_none() {
        state.flushing = false;
        return true;
    }
    // … and then for a while, unless there is much to write or the log is closed.
    let until = failed.map_or_else(|| Instant::now() + GATHER, |when| when + RETRY);
    while !state.closing && (failed.is_some() || !state.much_to_write() && !state.flushing) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        state = shared.waited(shared.work.wait_timeout(state, left));
    }
    state.flushing = false;
    true
}

/// Copies the next bytes out of memory; false if there are none.
fn take(shared: &Shared, chunk: &mut Chunk) -> bool {
    let state = shared.state();
    // Bytes that fell out of memory unwritten are lost; the next segment starts after them.
    chunk.start = state.written.max(state.ring.start());
    let share = (state.limits.disk / SEGMENTS).clamp(ROW, CHUNK);
    let end = state.ring.end().min(chunk.start + share);
    chunk.bytes.clear();
    chunk.records.clear();
    state.ring.copy(chunk.start..end, &mut chunk.bytes);
    chunk.records.extend(state.ring.records(chunk.start..end));
    chunk.before = state.counts_before(chunk.start);
    !chunk.bytes.is_empty()
}

fn write(shared: &Shared, directory: &Path, open: &mut Option<Writer>, chunk: &Chunk) -> io::Result<()> {
    let (current, limit) = {
        let state = shared.state();
        (state.segments.last().cloned(), state.limits.disk)
    };
    let full = |segment: &Segment| segment.on_disk() >= limit / SEGMENTS;
    let (mut segment, writer) = match (open.as_mut(), current) {
        (Some(writer), Some(segment)) if segment.end() == chunk.start && !full(&segment) => (segment, writer),
        _ => {
            let segment = Segment { base: chunk.start, len: 0, rows: 0, before: chunk.before, after: chunk.before };
            let writer = open.insert(Writer::create(directory, &segment)?);
            shared.state().segments.push(segment.clone());
            (segment, writer)
        }
    };
    if let Err(error) = writer.add(&segment, &chunk.bytes, &chunk.records) {
        if segment.len == 0 {
            shared.state().segments.pop();
            let _ = segment.remove(directory);
        }
        return Err(error);
    }
    segment.len += chunk.bytes.len() as u64;
    segment.rows += chunk.records.len() as u64;
    for record in &chunk.records {
        segment.after += record.counts();
    }
    let end = segment.end();
    let mut state = shared.state();
    if let Some(last) = state.segments.last_mut() {
        *last = segment;
    }
    let oldest = state.take_over_limit();
    drop(state);
    // Before a caller learns that everything is written: it must then find the directory within its limits.
    for segment in oldest {
        if let Err(error) = segment.remove(directory) {
            tracing::warn!(directory = %directory.display(), %error, "dropping old output failed");
        }
    }
    let mut state = shared.state();
    state.written = end;
    state.disk = Disk::Writing;
    if state.ring.end() - end.min(state.ring.end()) <= state.ring.max_bytes() as u64 / 2 {
        state.lagging = false;
    }
    drop(state);
    shared.progress.notify_all();
    Ok(())
}

impl State {
    /// Returns true if enough data is waiting that the thread should wake up.
    pub(super) fn much_to_write(&self) -> bool {
        let enough = SOON.min(self.ring.max_bytes() as u64 / 2);
        self.ring.end() - self.written.min(self.ring.end()) >= enough
    }

    /// Returns the counts of everything appended before an offset that the ring holds.
    fn counts_before(&self, offset: u64) -> Counts {
        let held = self.ring.records(self.ring.start()..offset);
        held.fold(self.ring.counts_before_start(), |counts, record| counts + record.counts())
    }

    /// Removes the oldest segments from the list while all together exceed their share. The newest is always kept.
    fn take_over_limit(&mut self) -> Vec<Segment> {
        let mut size: u64 = self.segments.iter().map(Segment::on_disk).sum();
        let mut count = 0;
        while size > self.limits.disk && count + 1 < self.segments.len() {
            size -= self.segments[count].on_disk();
            count += 1;
        }
        self.segments.drain(..count).collect()
    }
}

const _: () = assert!(HEADER.is_multiple_of(ROW));

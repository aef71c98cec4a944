//! The daemon's journal: typed records, kept for late subscribers, sent to subscribers and written as JSON lines.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use project::journal::{self, Event};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::runtime;
use tokio::sync::{broadcast, watch};

use crate::log::CappedFile;

/// The number of entries kept for late subscribers.
const KEPT: usize = 512;

/// The number of entries a subscriber may fall behind before some are skipped.
const BEHIND: usize = 1024;

/// The maximum delay before a record is written to the file. Some records come thousands of times a second, and each
/// write would delay its caller.
const GATHERED: Duration = Duration::from_millis(20);

/// The journal's file in the log directory.
pub(crate) const FILE_NAME: &str = "journal.jsonl";

/// A record with its number in the journal.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    /// The time in milliseconds since 1970.
    at_ms: u64,
    record: Box<dyn AnyEvent>,
}

impl Entry {
    /// Returns the JSON that is written and sent.
    pub(crate) fn json(&self) -> serde_json::Result<Box<RawValue>> {
        self.record.json(self.seq, self.at_ms)
    }
}

/// A record of the daemon or of a part.
trait AnyEvent: Debug + Send + Sync {
    fn json(&self, seq: u64, at_ms: u64) -> serde_json::Result<Box<RawValue>>;
}

impl<E: Event> AnyEvent for E {
    fn json(&self, seq: u64, at_ms: u64) -> serde_json::Result<Box<RawValue>> {
        #[derive(Serialize)]
        struct Line<'a, E> {
            seq: u64,
            at_ms: u64,
            #[serde(flatten)]
            record: &'a E,
        }
        to_raw_value(&Line { seq, at_ms, record: self })
    }
}

/// The journal of one daemon process.
pub(crate) struct Journal {
    me: Weak<Journal>,
    state: Mutex<State>,
    /// `None` if the disk is unusable: front-ends and tests read the journal in memory. Locked before the state.
    file: Mutex<Option<CappedFile>>,
    subscribers: broadcast::Sender<Arc<Entry>>,
    /// The number of the last entry.
    changes: watch::Sender<u64>,
}

struct State {
    last: u64,
    kept: VecDeque<Arc<Entry>>,
    /// Entries that are not in the file yet.
    unwritten: Vec<Arc<Entry>>,
}

impl Journal {
    /// Opens a journal that also writes to the log directory, at most `limit` bytes per file.
    pub(crate) fn open(log_dir: &Path, limit: u64) -> io::Result<Arc<Journal>> {
        Ok(Journal::with(Some(CappedFile::open(log_dir.join(FILE_NAME), limit)?)))
    }

    /// Creates a journal in memory only.
    pub(crate) fn in_memory() -> Arc<Journal> {
        Journal::with(None)
    }

    fn with(file: Option<CappedFile>) -> Arc<Journal> {
        let state = State { last: 0, kept: VecDeque::with_capacity(KEPT), unwritten: Vec::new() };
        let subscribers = broadcast::channel(BEHIND).0;
        let changes = watch::channel(0).0;
        Arc::new_cyclic(|me| Journal {
            me: me.clone(),
            state: Mutex::new(state),
            file: Mutex::new(file),
            subscribers,
            changes,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Records an event.
    pub(crate) fn record(&self, record: impl Event) {
        let rare = record.is_rare();
        let mut state = self.lock();
        state.last += 1;
        let entry = Arc::new(Entry { seq: state.last, at_ms: journal::now(), record: Box::new(record) });
        state.unwritten.push(Arc::clone(&entry));
        let is_first = state.unwritten.len() == 1;
        if state.kept.len() == KEPT {
            state.kept.pop_front();
        }
        state.kept.push_back(Arc::clone(&entry));
        // Sent under the lock, so that subscribers see entries in order. There may be no subscribers.
        let _ = self.subscribers.send(entry);
        self.changes.send_replace(state.last);
        drop(state);
        match runtime::Handle::try_current() {
            Ok(_) if !rare && !is_first => {}
            Ok(runtime) if !rare => drop(runtime.spawn(write_soon(self.me.clone()))),
            _ => self.write(),
        }
    }

    /// Writes the pending entries to the file.
    fn write(&self) {
        let mut file = self.file.lock();
        let unwritten = std::mem::take(&mut self.lock().unwritten);
        let Some(file) = &mut *file else { return };
        let mut lines = Vec::new();
        for entry in unwritten {
            if let Ok(line) = entry.json() {
                lines.extend_from_slice(line.get().as_bytes());
                lines.push(b'\n');
            }
        }
        // A full disk loses lines of the file, never the entry in memory.
        let _ = file.write_lines(&lines);
    }

    /// Returns the kept entries after number `since`, and all later ones.
    pub(crate) fn subscribe(&self, since: u64) -> (Vec<Arc<Entry>>, broadcast::Receiver<Arc<Entry>>) {
        let state = self.lock();
        let kept = state.kept.iter().filter(|entry| entry.seq > since).cloned().collect();
        (kept, self.subscribers.subscribe())
    }

    /// Returns the kept entries after number `since`.
    pub(crate) fn since(&self, since: u64) -> Vec<Arc<Entry>> {
        let state = self.lock();
        // The newest entries are at the end, and usually only few are new.
        let new = state.kept.iter().rev().take_while(|entry| entry.seq > since).count();
        state.kept.range(state.kept.len() - new..).cloned().collect()
    }

    /// Returns a receiver that is notified of every record.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.write();
    }
}

async fn write_soon(journal: Weak<Journal>) {
    tokio::time::sleep(GATHERED).await;
    if let Some(journal) = journal.upgrade() {
        // There may be hundreds of entries; callers need not wait for them.
        let _ = tokio::task::spawn_blocking(move || journal.write()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use project::journal::Record;

    #[derive(Debug, Serialize)]
    #[serde(tag = "record", rename_all = "snake_case")]
    enum Frequent {
        BedWatered { bed: u64 },
    }

    impl Event for Frequent {}

    fn stopping(reason: &str) -> Record {
        Record::DaemonStopping { reason: reason.to_owned() }
    }

    #[tokio::test]
    async fn late_subscribers_miss_nothing_that_is_kept() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let journal = Journal::open(dir.path(), 1 << 20).expect("opens");
        journal.record(stopping("one"));
        journal.record(stopping("two"));
        let (kept, mut next) = journal.subscribe(1);
        journal.record(stopping("three"));
        assert_eq!(kept.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [2]);
        assert_eq!(next.recv().await.expect("sent").seq, 3);
        let text = std::fs::read_to_string(dir.path().join(FILE_NAME)).expect("written");
        assert_eq!(text.lines().count(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn frequent_records_are_gathered_and_keep_their_order() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let journal = Journal::open(dir.path(), 1 << 20).expect("opens");
        let watered = |bed| Frequent::BedWatered { bed };
        let written = || std::fs::read_to_string(dir.path().join(FILE_NAME)).expect("readable").lines().count();
        journal.record(watered(1));
        journal.record(watered(2));
        assert_eq!((written(), journal.subscribe(0).0.len()), (0, 2));
        while written() < 2 {
            tokio::time::sleep(GATHERED).await;
        }
        assert_eq!(written(), 2);
        journal.record(watered(3));
        journal.record(stopping("now"));
        assert_eq!(written(), 4);
        journal.record(watered(4));
        drop(journal);
        let text = std::fs::read_to_string(dir.path().join(FILE_NAME)).expect("readable");
        let numbers = text.lines().map(|line| serde_json::from_str::<journal::Entry>(line).expect("an entry").seq);
        assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        let last = text.lines().last().expect("a line");
        assert!(
            last.starts_with(r#"{"seq":5,"at_ms":"#) && last.ends_with(r#","record":"bed_watered","bed":4}"#),
            "{last}"
        );
    }
}

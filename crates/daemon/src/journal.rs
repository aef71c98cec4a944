//! What happened, as typed records: kept for late readers, sent to subscribers, and written as JSON lines.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use project::journal::{Entry, Record};
use tokio::sync::broadcast;

use crate::log::CappedFile;

/// How many entries late subscribers find.
const KEPT: usize = 512;

/// How many entries a subscriber may fall behind before it is told that it missed some.
const BEHIND: usize = 1024;

/// The journal's file beside the log.
pub(crate) const FILE_NAME: &str = "journal.jsonl";

/// The journal of one life of the daemon.
pub(crate) struct Journal {
    state: Mutex<State>,
    subscribers: broadcast::Sender<Arc<Entry>>,
}

struct State {
    last: u64,
    kept: VecDeque<Arc<Entry>>,
    /// Absent when the disk would not have it: the journal in memory is what faces and tests read.
    file: Option<CappedFile>,
}

impl Journal {
    /// A journal that also writes to the log directory, `limit` bytes a file at most.
    pub(crate) fn open(log_dir: &Path, limit: u64) -> io::Result<Journal> {
        Ok(Journal::with(Some(CappedFile::open(log_dir.join(FILE_NAME), limit)?)))
    }

    /// A journal in memory only.
    pub(crate) fn in_memory() -> Journal {
        Journal::with(None)
    }

    fn with(file: Option<CappedFile>) -> Journal {
        let state = State { last: 0, kept: VecDeque::with_capacity(KEPT), file };
        Journal { state: Mutex::new(state), subscribers: broadcast::channel(BEHIND).0 }
    }

    /// Writes a record down.
    pub(crate) fn record(&self, record: Record) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last += 1;
        let entry = Arc::new(Entry::now(state.last, record));
        if let Some(file) = &mut state.file
            && let Ok(mut line) = serde_json::to_vec(&*entry)
        {
            line.push(b'\n');
            // A full disk loses lines of the file, never the entry itself.
            let _ = file.write_line(&line);
        }
        if state.kept.len() == KEPT {
            state.kept.pop_front();
        }
        state.kept.push_back(Arc::clone(&entry));
        // Sent under the lock, so that subscribers see entries in order. Nobody listening is no error.
        let _ = self.subscribers.send(entry);
    }

    /// The kept entries after number `since`, and all that follow.
    pub(crate) fn subscribe(&self, since: u64) -> (Vec<Arc<Entry>>, broadcast::Receiver<Arc<Entry>>) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = state.kept.iter().filter(|entry| entry.seq > since).cloned().collect();
        (kept, self.subscribers.subscribe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

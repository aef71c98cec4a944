//! The numbers of evaluations: one counter for all sessions of a project, continued by the next daemon, so that a
//! number never refers to two evaluations.

use parking_lot::Mutex;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of numbers reserved on disk at once, which bounds the gap after a crash. Small, since people see the gap.
const BLOCK: u64 = 8;
/// The file next to the output of the sessions. It holds the first number that the next daemon may assign.
const FILE: &str = "next-evaluation";

#[derive(Debug)]
pub(crate) struct EvalNumbers {
    /// The first number of this daemon.
    first: u64,
    next: AtomicU64,
    /// Numbers below this one are reserved on disk.
    reserved: AtomicU64,
    file: Option<PathBuf>,
    /// Held while the file is written.
    writing: Mutex<()>,
}

impl EvalNumbers {
    /// Counts from 1, in memory.
    #[cfg(test)]
    pub(crate) fn fresh() -> EvalNumbers {
        EvalNumbers::from(1, None)
    }

    /// Continues after the last daemon's numbers. Without the file, it continues after `known`, the newest known
    /// evaluation.
    pub(crate) fn open(directory: Option<&Path>, known: impl FnOnce() -> Option<u64>) -> EvalNumbers {
        let file = directory.map(|directory| directory.join(FILE));
        let kept = file.as_deref().and_then(|file| match std::fs::read_to_string(file) {
            Ok(text) => text.trim().parse().ok().filter(|next| *next < u64::MAX / 2),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(path = %file.display(), %error, "cannot read the last evaluation number");
                None
            }
        });
        let first = kept.or_else(|| known().map(|last| last.saturating_add(1))).unwrap_or(1).max(1);
        EvalNumbers::from(first, file)
    }

    fn from(first: u64, file: Option<PathBuf>) -> EvalNumbers {
        let (next, reserved) = (AtomicU64::new(first), AtomicU64::new(first));
        EvalNumbers { first, next, reserved, file, writing: Mutex::default() }
    }

    pub(crate) fn take(&self) -> u64 {
        let number = self.next.fetch_add(1, Ordering::AcqRel);
        if number >= self.reserved.load(Ordering::Acquire) {
            self.reserve(number);
        }
        number
    }

    /// Returns true if this daemon or an earlier one assigned this number.
    pub(crate) fn is_assigned(&self, eval: u64) -> bool {
        (1..self.next.load(Ordering::Acquire)).contains(&eval)
    }

    /// Returns true if an earlier daemon assigned this number.
    pub(crate) fn is_from_earlier_daemon(&self, eval: u64) -> bool {
        (1..self.first).contains(&eval)
    }

    /// Returns reserved numbers that were not used. Call when the daemon ends.
    pub(crate) fn close(&self) {
        let _writing = self.writing.lock();
        let next = self.next.load(Ordering::Acquire);
        if next > self.first {
            self.write(next);
            self.reserved.store(next, Ordering::Release);
        }
    }

    fn reserve(&self, number: u64) {
        let _writing = self.writing.lock();
        if number >= self.reserved.load(Ordering::Acquire) {
            let until = number.saturating_add(BLOCK);
            self.write(until);
            // If the disk is not writable, counting continues.
            self.reserved.store(until, Ordering::Release);
        }
    }

    fn write(&self, next: u64) {
        let Some(file) = &self.file else { return };
        // The length is constant and the write is one call: a reader after a crash sees the old number or the new one.
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(file.parent().unwrap_or(Path::new("/")))?;
            let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(file)?;
            std::os::unix::fs::FileExt::write_all_at(&open, format!("{next:020}\n").as_bytes(), 0)
        };
        if let Err(error) = write() {
            tracing::warn!(path = %file.display(), %error, "cannot store the last evaluation number");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_never_given_twice() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = || EvalNumbers::open(Some(directory.path()), || None);
        let crashed = open();
        assert_eq!((1..=100).map(|_| crashed.take()).collect::<Vec<_>>(), (1..=100).collect::<Vec<_>>());
        let ended = open();
        assert!(ended.is_from_earlier_daemon(100) && !ended.is_from_earlier_daemon(0));
        let first = ended.take();
        assert!((101..=100 + BLOCK + 1).contains(&first), "{first}");
        assert!(!ended.is_from_earlier_daemon(first) && ended.is_assigned(first) && !ended.is_assigned(first + 1));
        ended.close();
        let next = open();
        assert_eq!(next.take(), first + 1, "after an orderly end there is no gap");
        std::fs::write(directory.path().join(FILE), "nonsense").expect("written");
        let known = EvalNumbers::open(Some(directory.path()), || Some(500));
        assert_eq!(known.take(), 501);
    }

    #[test]
    fn a_disk_that_takes_nothing_is_no_reason_to_stop() {
        let numbers = EvalNumbers::open(Some(Path::new("/proc/nowhere")), || None);
        assert_eq!((1..=200).map(|_| numbers.take()).last(), Some(200));
        numbers.close();
    }
}

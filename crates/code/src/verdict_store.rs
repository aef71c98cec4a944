//! Verdicts stored on disk, which outlive the server and the daemon: the sites that mean a definition, keyed by file content.
//! A stored verdict is shown as confirmed earlier while no server is available. It never makes an answer final.
//!
//! Each definition has a file, named by a hash of its path, its file's content and its offset. The file holds a hash of path
//! and content, and an offset, for each site. A change in either file hides the verdict until the change is undone. Paths are
//! relative to the worktree, so sibling worktrees share verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// A hash of the path and the content of a file.
type Print = [u8; 16];
/// A definition or a site: its file, and its offset.
pub(crate) type Record = (Print, u64);

/// The size limit in bytes. Eviction leaves three quarters.
const MOST: u64 = 64 << 20;
/// The maximum number of sites stored for a definition.
const SITES: usize = 10_000;
const RECORD: usize = size_of::<Print>() + size_of::<u64>();
/// The minimum size of a file on disk.
const BLOCK: u64 = 4096;
/// The format version, part of every hash: a new format ignores old files.
const FORM: &[u8] = b"hob verdicts 1\0";

#[derive(Debug)]
pub(crate) struct VerdictStore {
    directory: PathBuf,
    most: u64,
    /// The size in bytes; `None` until it is measured.
    size: Mutex<Option<u64>>,
}

/// The hashes of files, by path.
#[derive(Default)]
pub(crate) struct Prints(BTreeMap<Arc<Path>, Print>);

impl Prints {
    /// Returns the record of an offset in a file. The path is relative to the worktree.
    pub(crate) fn record(&mut self, path: &Arc<Path>, text: &[u8], at: usize) -> Record {
        let print = self.0.entry(path.clone()).or_insert_with(|| {
            let mut hasher = Sha256::new();
            hasher.update(FORM);
            hasher.update(path.as_os_str().as_encoded_bytes());
            hasher.update([0]);
            hasher.update(text);
            let mut print = Print::default();
            print.copy_from_slice(&hasher.finalize()[..size_of::<Print>()]);
            print
        });
        (*print, at as u64)
    }
}

impl VerdictStore {
    /// Uses a directory, which is created by the first write.
    pub(crate) fn new(directory: PathBuf) -> VerdictStore {
        VerdictStore { directory, most: MOST, size: Mutex::new(None) }
    }

    /// Returns which of the definitions each site was confirmed to mean. Blocks for small reads.
    pub(crate) fn recall(&self, definitions: &[Record], sites: &[Record]) -> Vec<Option<usize>> {
        let mut meant = vec![None; sites.len()];
        for (number, definition) in definitions.iter().enumerate() {
            let known = self.read(&self.file(definition));
            for (site, meant) in sites.iter().zip(&mut meant) {
                if meant.is_none() && known.contains(site) {
                    *meant = Some(number);
                }
            }
        }
        meant
    }

    /// Stores the verdicts of sites: the index of the definition, or `None` if it was refuted. Blocks.
    pub(crate) fn keep(&self, definitions: &[Record], sites: &[(Record, Option<usize>)]) -> io::Result<()> {
        let mut size = self.size.lock();
        for (number, definition) in definitions.iter().enumerate() {
            let (mut confirmed, mut other) = (BTreeSet::new(), BTreeSet::new());
            for (site, meant) in sites {
                _ = if *meant == Some(number) { confirmed.insert(*site) } else { other.insert(*site) };
            }
            let file = self.file(definition);
            let known = self.read(&file);
            let rest: Vec<Record> =
                known.difference(&confirmed).filter(|record| !other.contains(record)).copied().collect();
            // Sites of other revisions come last.
            let all: Vec<Record> = confirmed.iter().copied().chain(rest).take(SITES).collect();
            if all.len() == known.len() && confirmed.is_subset(&known) {
                continue;
            }
            self.write(&file, &all, &mut size)?;
        }
        Ok(())
    }

    fn file(&self, (print, at): &Record) -> PathBuf {
        let name: String = print.iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(format!("{name}-{at}"))
    }

    fn read(&self, file: &Path) -> BTreeSet<Record> {
        let mut bytes = Vec::new();
        if let Ok(mut file) = project::regular::open(file) {
            _ = std::io::Read::read_to_end(&mut file, &mut bytes);
        }
        let record = |bytes: &[u8]| -> Option<Record> {
            let (print, at) = bytes.split_at_checked(size_of::<Print>())?;
            Some((print.try_into().ok()?, u64::from_le_bytes(at.try_into().ok()?)))
        };
        bytes.chunks_exact(RECORD).filter_map(record).collect()
    }

    /// Replaces a file atomically.
    fn write(&self, file: &Path, all: &[Record], size: &mut Option<u64>) -> io::Result<()> {
        if all.is_empty() {
            return std::fs::remove_file(file);
        }
        std::fs::create_dir_all(&self.directory)?;
        let bytes: Vec<u8> = all.iter().flat_map(|(print, at)| print.iter().copied().chain(at.to_le_bytes())).collect();
        let fresh = self.directory.join("new");
        std::fs::write(&fresh, &bytes)?;
        std::fs::rename(&fresh, file)?;
        let known = size.map_or(u64::MAX, |known| known + on_disk(bytes.len() as u64));
        *size = Some(if known > self.most { self.shrink()? } else { known });
        Ok(())
    }

    /// Removes the oldest files if all exceed the limit, and returns the remaining size.
    fn shrink(&self) -> io::Result<u64> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_file() {
                files.push((metadata.modified()?, entry.path(), on_disk(metadata.len())));
            }
        }
        files.sort();
        let mut left: u64 = files.iter().map(|(_, _, size)| size).sum();
        let least = if left > self.most { self.most / 4 * 3 } else { left };
        for (_, file, size) in files {
            if left <= least {
                break;
            }
            std::fs::remove_file(file)?;
            left -= size;
        }
        Ok(left)
    }
}

fn on_disk(len: u64) -> u64 {
    len.next_multiple_of(BLOCK)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn record(path: &str, text: &str, at: usize) -> Record {
        Prints::default().record(&Path::new(path).into(), text.as_bytes(), at)
    }

    fn new_store() -> (tempfile::TempDir, VerdictStore) {
        let folder = tempfile::tempdir().unwrap();
        let kept = VerdictStore::new(folder.path().join("verdicts"));
        (folder, kept)
    }

    #[test]
    fn confirmed_verdicts_are_recalled_until_a_file_changes() {
        let (_folder, kept) = new_store();
        let definition = record("geo.py", "def area(): pass", 4);
        let (one, two) = (record("uses.py", "area(); area()", 0), record("uses.py", "area(); area()", 8));
        let recalled = |definition: Record, site: Record| kept.recall(&[definition], &[site]);
        assert_eq!(recalled(definition, one), [None]);
        kept.keep(&[definition], &[(one, Some(0)), (two, None)]).unwrap();
        assert_eq!((recalled(definition, one), recalled(definition, two)), (vec![Some(0)], vec![None]));
        // One of the files changed.
        assert_eq!(recalled(record("geo.py", "def area(): pass\n", 4), one), [None]);
        assert_eq!(recalled(record("other.py", "def area(): pass", 4), one), [None]);
        assert_eq!(recalled(definition, record("uses.py", "area(); area() ", 0)), [None]);
        // A restarted daemon.
        let again = VerdictStore::new(kept.directory.clone());
        assert_eq!(again.recall(&[definition], &[one, two]), [Some(0), None]);
        // A refuted site is removed; sites of other revisions remain.
        let elsewhere = record("more.py", "area()", 0);
        kept.keep(&[definition], &[(elsewhere, Some(0))]).unwrap();
        kept.keep(&[definition], &[(one, None)]).unwrap();
        assert_eq!(again.recall(&[definition], &[one, elsewhere]), [None, Some(0)]);
        kept.keep(&[definition], &[(elsewhere, None)]).unwrap();
        assert_eq!(again.recall(&[definition], &[elsewhere]), [None]);
    }

    #[test]
    fn a_truncated_file_is_ignored() {
        let (_folder, kept) = new_store();
        let (definition, site) = (record("a.rs", "fn a() {}", 3), record("b.rs", "a()", 0));
        kept.keep(&[definition], &[(site, Some(0))]).unwrap();
        let file = kept.file(&definition);
        for torn in [&b""[..], b"short", &[7; RECORD + 3]] {
            std::fs::write(&file, torn).unwrap();
            assert_eq!(kept.recall(&[definition], &[site]), [None]);
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(kept.keep(&[definition], &[(site, Some(0))]).is_err());
        assert_eq!(kept.recall(&[definition], &[site]), [None]);
    }

    #[test]
    fn the_oldest_verdicts_are_evicted() {
        let (_folder, mut kept) = new_store();
        kept.most = 8 * BLOCK;
        let site = record("b.rs", "a()", 0);
        let definition = |at: usize| record("a.rs", "fn a() {}", at);
        for at in 0..9 {
            kept.keep(&[definition(at)], &[(site, Some(0))]).unwrap();
            // File system timestamps are coarse.
            let file = std::fs::File::open(kept.file(&definition(at)));
            let when = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(at as u64);
            _ = file.map(|file| file.set_modified(when));
        }
        let is_known = |at: &usize| kept.recall(&[definition(*at)], &[site]) == [Some(0)];
        let left: Vec<usize> = (0..9).filter(is_known).collect();
        assert_eq!(left, [3, 4, 5, 6, 7, 8]);
        assert_eq!(*kept.size.lock(), Some(6 * BLOCK));
    }
}

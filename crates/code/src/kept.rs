//! Verdicts that outlive the server that gave them, and the daemon: which sites mean a definition, each by the content of its
//! file. One that is kept is shown as confirmed earlier while nobody judges, and never makes an answer final.
//!
//! A file for each definition, named by its path, the content of its file and its place; in it, for each site, the path and
//! the content of its file as one number, and its place. So whatever changed in either file is not found again, and what
//! changes back is. Where a worktree lies does not count: sibling worktrees share what they have in common.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// The path and the content of a file as one number.
type Print = [u8; 16];
/// Where a site is.
type Record = (Print, u64);

/// How many bytes are kept in all, and down to how many the oldest go.
const MOST: u64 = 64 << 20;
const LEAST: u64 = MOST / 4 * 3;
/// How many sites are kept of one definition.
const SITES: usize = 10_000;
const RECORD: usize = size_of::<Print>() + size_of::<u64>();
/// What the smallest file takes on a disk.
const BLOCK: u64 = 4096;
/// Part of every number: another form of the files begins anew.
const FORM: &[u8] = b"hob verdicts 1\0";

/// Where a definition or a site stands, with the text of its file.
#[derive(Debug, Clone)]
pub(crate) struct Stand {
    /// Relative to the worktree.
    pub path: Arc<Path>,
    pub text: Arc<[u8]>,
    pub at: usize,
}

/// The verdicts of a project.
#[derive(Debug)]
pub(crate) struct Kept {
    directory: PathBuf,
    most: u64,
    /// How many bytes there are; `None` before anybody has looked.
    size: Mutex<Option<u64>>,
}

/// Numbers of files, each made once.
#[derive(Default)]
struct Prints(BTreeMap<Arc<Path>, Print>);

impl Prints {
    fn of(&mut self, stand: &Stand) -> Print {
        *self.0.entry(stand.path.clone()).or_insert_with(|| {
            let mut hasher = Sha256::new();
            hasher.update(FORM);
            hasher.update(stand.path.as_os_str().as_encoded_bytes());
            hasher.update([0]);
            hasher.update(&stand.text);
            let mut print = Print::default();
            print.copy_from_slice(&hasher.finalize()[..size_of::<Print>()]);
            print
        })
    }

    fn record(&mut self, stand: &Stand) -> Record {
        (self.of(stand), stand.at as u64)
    }
}

impl Kept {
    /// Verdicts in a directory, which is made when the first is kept.
    pub(crate) fn new(directory: PathBuf) -> Kept {
        Kept { directory, most: MOST, size: Mutex::new(None) }
    }

    /// Which of the definitions each site was confirmed to mean. Blocks for small reads.
    pub(crate) fn recall(&self, definitions: &[Stand], sites: &[Stand]) -> Vec<Option<usize>> {
        let mut prints = Prints::default();
        let mut meant = vec![None; sites.len()];
        for (number, definition) in definitions.iter().enumerate() {
            let known = self.read(&self.file(&mut prints, definition));
            if known.is_empty() {
                continue;
            }
            for (site, meant) in sites.iter().zip(&mut meant) {
                if meant.is_none() && known.contains(&prints.record(site)) {
                    *meant = Some(number);
                }
            }
        }
        meant
    }

    /// Keeps what sites mean: of each the number of its definition, or `None` where it was refuted. Blocks.
    pub(crate) fn keep(&self, definitions: &[Stand], sites: &[(Stand, Option<usize>)]) -> io::Result<()> {
        let mut prints = Prints::default();
        let mut size = self.size.lock();
        for (number, definition) in definitions.iter().enumerate() {
            let mut confirmed: BTreeSet<Record> = BTreeSet::new();
            let mut other: BTreeSet<Record> = BTreeSet::new();
            for (site, meant) in sites {
                let record = prints.record(site);
                _ = if *meant == Some(number) { confirmed.insert(record) } else { other.insert(record) };
            }
            let file = self.file(&mut prints, definition);
            let known = self.read(&file);
            let rest: Vec<Record> =
                known.difference(&confirmed).filter(|record| !other.contains(record)).copied().collect();
            // Those of other revisions come after.
            let all: Vec<Record> = confirmed.iter().copied().chain(rest).take(SITES).collect();
            if all.len() == known.len() && confirmed.is_subset(&known) {
                continue;
            }
            self.write(&file, &all, &mut size)?;
        }
        Ok(())
    }

    fn file(&self, prints: &mut Prints, definition: &Stand) -> PathBuf {
        let name: String = prints.of(definition).iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(format!("{name}-{}", definition.at))
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

    /// Writes a file as a whole: what reads it meanwhile has the one before.
    fn write(&self, file: &Path, all: &[Record], size: &mut Option<u64>) -> io::Result<()> {
        if all.is_empty() {
            return std::fs::remove_file(file);
        }
        std::fs::create_dir_all(&self.directory)?;
        let bytes: Vec<u8> = all.iter().flat_map(|(print, at)| print.iter().copied().chain(at.to_le_bytes())).collect();
        let fresh = self.directory.join("new");
        std::fs::write(&fresh, &bytes)?;
        let before = std::fs::metadata(file).map(|known| on_disk(known.len())).unwrap_or_default();
        std::fs::rename(&fresh, file)?;
        let known = match *size {
            Some(known) => (known + on_disk(bytes.len() as u64)).saturating_sub(before),
            None => self.files()?.iter().map(|(_, _, size)| size).sum(),
        };
        *size = Some(if known > self.most { self.shrink()? } else { known });
        Ok(())
    }

    /// Removes the files that were written longest ago; what is left.
    fn shrink(&self) -> io::Result<u64> {
        let mut files = self.files()?;
        files.sort();
        let mut left: u64 = files.iter().map(|(_, _, size)| size).sum();
        for (_, file, size) in files {
            if left <= LEAST.min(self.most / 4 * 3) {
                break;
            }
            std::fs::remove_file(file)?;
            left -= size;
        }
        Ok(left)
    }

    fn files(&self) -> io::Result<Vec<(SystemTime, PathBuf, u64)>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_file() {
                files.push((metadata.modified()?, entry.path(), on_disk(metadata.len())));
            }
        }
        Ok(files)
    }
}

fn on_disk(len: u64) -> u64 {
    len.next_multiple_of(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand(path: &str, text: &str, at: usize) -> Stand {
        Stand { path: Path::new(path).into(), text: text.as_bytes().into(), at }
    }

    fn kept() -> (tempfile::TempDir, Kept) {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::new(folder.path().join("verdicts"));
        (folder, kept)
    }

    #[test]
    fn what_was_confirmed_is_known_while_both_files_stay() {
        let (_folder, kept) = kept();
        let definition = stand("geo.py", "def area(): pass", 4);
        let (one, two) = (stand("uses.py", "area(); area()", 0), stand("uses.py", "area(); area()", 8));
        let recalled = |definition: &Stand, site: &Stand| {
            kept.recall(std::slice::from_ref(definition), std::slice::from_ref(site))
        };
        assert_eq!(recalled(&definition, &one), [None]);
        kept.keep(std::slice::from_ref(&definition), &[(one.clone(), Some(0)), (two.clone(), None)]).unwrap();
        assert_eq!((recalled(&definition, &one), recalled(&definition, &two)), (vec![Some(0)], vec![None]));
        // Either file is another one.
        assert_eq!(recalled(&stand("geo.py", "def area(): pass\n", 4), &one), [None]);
        assert_eq!(recalled(&stand("other.py", "def area(): pass", 4), &one), [None]);
        assert_eq!(recalled(&definition, &stand("uses.py", "area(); area() ", 0)), [None]);
        // Another life of the daemon.
        let again = Kept::new(kept.directory.clone());
        assert_eq!(again.recall(std::slice::from_ref(&definition), &[one.clone(), two]), [Some(0), None]);
        // What is refuted now is forgotten; what another revision has stays.
        let elsewhere = stand("more.py", "area()", 0);
        kept.keep(std::slice::from_ref(&definition), &[(elsewhere.clone(), Some(0))]).unwrap();
        kept.keep(std::slice::from_ref(&definition), &[(one.clone(), None)]).unwrap();
        assert_eq!(again.recall(std::slice::from_ref(&definition), &[one.clone(), elsewhere.clone()]), [None, Some(0)]);
        kept.keep(std::slice::from_ref(&definition), &[(elsewhere.clone(), None)]).unwrap();
        assert_eq!(again.recall(&[definition], &[elsewhere]), [None]);
    }

    #[test]
    fn a_torn_file_is_no_answer() {
        let (_folder, kept) = kept();
        let (definition, site) = (stand("a.rs", "fn a() {}", 3), stand("b.rs", "a()", 0));
        kept.keep(std::slice::from_ref(&definition), &[(site.clone(), Some(0))]).unwrap();
        let file = kept.file(&mut Prints::default(), &definition);
        for torn in [&b""[..], b"short", &[7; RECORD + 3]] {
            std::fs::write(&file, torn).unwrap();
            assert_eq!(kept.recall(std::slice::from_ref(&definition), std::slice::from_ref(&site)), [None]);
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(kept.keep(std::slice::from_ref(&definition), &[(site.clone(), Some(0))]).is_err());
        assert_eq!(kept.recall(&[definition], &[site]), [None]);
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let (_folder, mut kept) = kept();
        kept.most = 8 * BLOCK;
        let site = stand("b.rs", "a()", 0);
        let definition = |at: usize| stand("a.rs", "fn a() {}", at);
        for at in 0..9 {
            kept.keep(&[definition(at)], &[(site.clone(), Some(0))]).unwrap();
            // The clock of a file system is coarse.
            let file = std::fs::File::open(kept.file(&mut Prints::default(), &definition(at)));
            let when = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(at as u64);
            _ = file.map(|file| file.set_modified(when));
        }
        let is_known = |at: &usize| kept.recall(&[definition(*at)], std::slice::from_ref(&site)) == [Some(0)];
        let left: Vec<usize> = (0..9).filter(is_known).collect();
        assert_eq!(left, [3, 4, 5, 6, 7, 8]);
        assert_eq!(*kept.size.lock(), Some(6 * BLOCK));
    }
}

//! Checks if git tracks a path by reading its index (gitformat-index(5)), without running git, which could run programs
//! from the repository's configuration.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::{git_dir_of, setting, worktree};
use crate::regular;

/// The size limit of an index. A file takes some 90 bytes.
const MAX_BYTES: u64 = 512 << 20;
/// The length limit of a path in an index.
const MAX_PATH: u64 = 64 * 1024;

/// Returns true if git tracks a path, or anything below it, in the worktree around it. `None` if the index cannot be
/// read. Nothing is tracked outside of a repository.
pub fn is_tracked(path: &Path) -> Option<bool> {
    let Some(worktree) = path.parent().and_then(worktree) else { return Some(false) };
    let wanted = path.strip_prefix(&worktree.top).ok()?.as_os_str().as_encoded_bytes();
    let git_dir = git_dir_of(&worktree.top)?;
    let common = git_dir.parent().and_then(Path::parent).filter(|_| git_dir.join("commondir").exists());
    let format = setting(common.unwrap_or(&git_dir), "[extensions]", "objectformat");
    let hash = match format.as_deref() {
        None | Some("sha1") => 20,
        Some("sha256") => 32,
        Some(_) => return None,
    };
    match regular::open(&git_dir.join("index")) {
        Ok(file) => {
            let found = Index::open(file, hash).ok()?.search(wanted).ok()?;
            match found {
                Lookup::Tracked => Some(true),
                Lookup::Nothing => Some(false),
                // A split index has a shared part. A file removed since then counts as tracked.
                Lookup::Shared(name) => {
                    let shared = regular::open(&git_dir.join(name)).ok()?;
                    Some(matches!(Index::open(shared, hash).ok()?.search(wanted).ok()?, Lookup::Tracked))
                }
            }
        }
        Err(error) if regular::is_absent(&error) => Some(false),
        Err(_) => None,
    }
}

enum Lookup {
    Tracked,
    Nothing,
    /// Not in this part; the shared part is in the file of this name.
    Shared(String),
}

struct Index {
    from: BufReader<io::Take<File>>,
    /// The bytes of an object's name.
    hash: usize,
    version: u32,
    entries: u32,
    length: u64,
    read: u64,
}

impl Index {
    fn open(file: File, hash: usize) -> io::Result<Index> {
        let length = file.metadata()?.len();
        let mut index =
            Index { from: BufReader::new(file.take(MAX_BYTES)), hash, version: 0, entries: 0, length, read: 0 };
        let head = index.bytes(4)?;
        (index.version, index.entries) = (index.number()?, index.number()?);
        if head == *b"DIRC" && (2..=4).contains(&index.version) && length <= MAX_BYTES {
            Ok(index)
        } else {
            Err(invalid())
        }
    }

    fn search(mut self, wanted: &[u8]) -> io::Result<Lookup> {
        let is_wanted = |name: &[u8]| match name.strip_prefix(wanted) {
            Some(rest) => rest.is_empty() || rest[0] == b'/',
            // This is a directory that a sparse index does not list.
            None => name.ends_with(b"/") && wanted.starts_with(name),
        };
        let mut name = Vec::new();
        for _ in 0..self.entries {
            self.entry(&mut name)?;
            if is_wanted(&name) {
                return Ok(Lookup::Tracked);
            }
        }
        while self.read + (self.hash as u64) < self.length {
            let (signature, size) = (self.bytes(4)?, self.number()?);
            if signature == *b"link" {
                let shared = self.bytes(self.hash)?;
                return Ok(Lookup::Shared(format!("sharedindex.{}", hex::encode(shared))));
            }
            self.skip(size.into())?;
        }
        Ok(Lookup::Nothing)
    }

    /// Reads the next entry into `name`, which holds the previous one: the fourth version omits common prefixes.
    fn entry(&mut self, name: &mut Vec<u8>) -> io::Result<()> {
        let begun = self.read;
        self.skip(40 + self.hash as u64)?;
        let flags = self.bytes(2)?;
        if flags[0] & 0x40 != 0 && self.version > 2 {
            self.skip(2)?;
        }
        let kept = match self.version {
            4 => {
                let dropped = self.varint()?;
                name.len().checked_sub(dropped).ok_or_else(invalid)?
            }
            _ => 0,
        };
        name.truncate(kept);
        let read = (&mut self.from).take(MAX_PATH).read_until(0, name)?;
        self.read += read as u64;
        if name.pop() != Some(0) {
            return Err(invalid());
        }
        if self.version < 4 {
            // Up to eight zeros follow, of which one is read.
            let length = self.read - 1 - begun;
            self.skip(7 - length % 8)?;
        }
        Ok(())
    }

    fn bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.from.read_exact(&mut bytes)?;
        self.read += count as u64;
        Ok(bytes)
    }

    fn number(&mut self) -> io::Result<u32> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Reads a number in git's offset encoding: seven bits a byte, adding one for each byte that follows.
    fn varint(&mut self) -> io::Result<usize> {
        let mut value = 0;
        for _ in 0..5 {
            let byte = self.bytes(1)?[0];
            value |= usize::from(byte & 127);
            if byte & 128 == 0 {
                return Ok(value);
            }
            value = (value + 1) << 7;
        }
        Err(invalid())
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.from).take(count), &mut io::sink())?;
        self.read += skipped;
        if skipped == count { Ok(()) } else { Err(invalid()) }
    }
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not a git index")
}

#[cfg(test)]
mod tests {
    use super::super::tests::git;
    use super::*;
    use std::fs;

    /// Creates a repository that tracks these files and contains others.
    fn repository(options: &[&str]) -> (tempfile::TempDir, std::path::PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap().join("top");
        for dir in [".venv/bin", "sub/.venv", "sub/venv", "z"] {
            fs::create_dir_all(top.join(dir)).unwrap();
        }
        git(&top, &[&["init", "-q"], options].concat());
        for file in [".travis.yml", ".venv-old", ".venv/bin/python", "sub/.venvx", "sub/.venv/x", "sub/venv/own", "z/z"]
        {
            fs::write(top.join(file), file).unwrap();
        }
        git(&top, &["add", ".travis.yml", ".venv-old", ".venv", "sub/.venvx", "z"]);
        (temp, top)
    }

    fn check(top: &Path) {
        let said = [".venv", ".venv/bin", "z", "sub/.venv", "sub/venv", ".ven", "sub/.venvx", "nowhere"]
            .map(|path| is_tracked(&top.join(path)));
        let expected = [true, true, true, false, false, false, true, false].map(Some);
        assert_eq!(said, expected, "{}", top.display());
    }

    #[test]
    fn what_git_tracks_in_each_form_of_its_index() {
        for options in [&[][..], &["--object-format=sha256"]] {
            let (_temp, top) = repository(options);
            for version in ["2", "3", "4"] {
                git(&top, &["update-index", "--index-version", version]);
                check(&top);
                // This entry has more flags, which the second version does not support.
                fs::write(top.join("later"), "").unwrap();
                git(&top, &["add", "--intent-to-add", "later"]);
                check(&top);
            }
            git(&top, &["update-index", "--split-index"]);
            check(&top);
            git(&top, &["commit", "-q", "-m", "all"]);
            git(&top, &["worktree", "add", "-q", "../linked"]);
            let linked = top.parent().unwrap().join("linked");
            check(&linked);
            assert_eq!(is_tracked(&linked.join("own")), Some(false));
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let (_temp, top) = repository(&[]);
        let index = top.join(".git/index");
        let whole = fs::read(&index).unwrap();
        for (n, broken) in [&whole[..3], &whole[..30], b"DIRC\0\0\0\x05\0\0\0\0", b"DIRC\0\0\0\x04\xff\xff\xff\xff"]
            .into_iter()
            .enumerate()
        {
            fs::write(&index, broken).unwrap();
            assert_eq!(is_tracked(&top.join(".venv")), None, "{n}");
        }
        fs::remove_file(&index).unwrap();
        assert_eq!(is_tracked(&top.join(".venv")), Some(false), "nothing was ever added");
        rustix::fs::mknodat(rustix::fs::CWD, &index, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(is_tracked(&top.join(".venv")), None);
        assert_eq!(is_tracked(top.parent().unwrap()), Some(false), "outside of a repository");
    }
}

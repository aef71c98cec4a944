//! Files that are replaced as a whole: a reader sees the old bytes or the new ones, never half of them. The new bytes
//! are drafted under a name that nobody could have planted; a file that already lies there is not written to.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Bytes on their way into a file's place; gone again unless they are put there.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
}

impl Draft {
    /// Drafts bytes in the directory of the place that they are meant for: with these permissions, or with those that any
    /// new file gets.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is left of it.
    pub fn new(directory: &Path, mode: Option<u32>, bytes: &[u8]) -> io::Result<Draft> {
        Draft::open(directory, mode, bytes).map(|(draft, _)| draft)
    }

    fn open(directory: &Path, mode: Option<u32>, bytes: &[u8]) -> io::Result<(Draft, File)> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let path = directory.join(format!(".hob-{:016x}", u64::from_ne_bytes(random)));
        // No other user reads it before it has its final permissions. A file that has this name already, a link too, is
        // an error, and is neither opened nor followed.
        let first = if mode.is_some() { 0o600 } else { 0o666 };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(first).open(&path)?;
        let draft = Draft { path };
        file.write_all(bytes)?;
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
        }
        Ok((draft, file))
    }

    /// Puts the draft into its place. A link that stands there is replaced, whatever it leads to.
    ///
    /// # Errors
    /// When it cannot be put there; then what is there stays.
    pub fn put(self, place: &Path) -> io::Result<()> {
        fs::rename(&self.path, place)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Where it was put into its place there is nothing of this name any more.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes a file in place of the one that is there, in a directory that is there. On the disk when this returns.
///
/// # Errors
/// When it cannot be written; then the former one stays.
pub fn replace(path: &Path, mode: Option<u32>, bytes: &[u8]) -> io::Result<()> {
    let directory = match path.parent() {
        Some(directory) if directory.as_os_str().is_empty() => Path::new("."),
        Some(directory) => directory,
        None => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let (draft, file) = Draft::open(directory, mode, bytes)?;
    file.sync_all()?;
    draft.put(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_put_into_its_place_or_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let (path, full) = (temp.path().join("file"), temp.path().join("directory"));
        fs::create_dir_all(full.join("x")).unwrap();
        replace(&path, Some(0o640), b"one").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        replace(&path, None, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        replace(&full, None, b"three").unwrap_err();
        replace(&temp.path().join("absent/file"), None, b"four").unwrap_err();
        drop(Draft::new(temp.path(), None, b"five").unwrap());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2);
        // Two at once are two files, also of one process.
        let (one, two) = (Draft::new(temp.path(), None, b"1").unwrap(), Draft::new(temp.path(), None, b"2").unwrap());
        one.put(&path).unwrap();
        two.put(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2);
    }
}

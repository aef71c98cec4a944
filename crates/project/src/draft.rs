//! Replaces files as a whole: a reader sees the old bytes or the new ones, never a mixture. The new bytes are drafted
//! under an unpredictable name; an existing file is never written to.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The future content of a file in a temporary file, which is removed unless it is put in place.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
}

impl Draft {
    /// Drafts the bytes in the target directory, with the given permissions, or with those of any new file.
    ///
    /// # Errors
    /// If the draft cannot be written; then it is removed.
    pub fn new(directory: &Path, mode: Option<u32>, bytes: &[u8]) -> io::Result<Draft> {
        Draft::open(directory, mode, bytes).map(|(draft, _)| draft)
    }

    fn open(directory: &Path, mode: Option<u32>, bytes: &[u8]) -> io::Result<(Draft, File)> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let path = directory.join(format!(".hob-{:016x}", u64::from_ne_bytes(random)));
        // No other user can read it before it has its final permissions. An existing file of this name, even a link, is
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

    /// Puts the draft in place. A link at that place is replaced, wherever it leads.
    ///
    /// # Errors
    /// If that fails; the existing file is kept.
    pub fn put(self, place: &Path) -> io::Result<()> {
        fs::rename(&self.path, place)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // If the draft was put in place, this name no longer exists.
        let _ = fs::remove_file(&self.path);
    }
}

/// Replaces a file in an existing directory. The bytes are on disk when this returns.
///
/// # Errors
/// If it cannot be written; the former file is kept.
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
        // Concurrent drafts are separate files, also within one process.
        let (one, two) = (Draft::new(temp.path(), None, b"1").unwrap(), Draft::new(temp.path(), None, b"2").unwrap());
        one.put(&path).unwrap();
        two.put(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2);
    }
}

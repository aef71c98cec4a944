//! Files private to this user: secrets, and files that no other user may have written.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::{draft, owner};

/// Returns the first `most` bytes of a file that no other user can have read or written. `None` if the file does not
/// exist; links are not followed.
///
/// # Errors
/// If it cannot be read.
pub fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    read_without(path, most, 0o077)
}

/// Like [`read`], for a file that others may have read.
pub(crate) fn read_unchanged(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    read_without(path, most, 0o022)
}

fn read_without(path: &Path, most: u64, rights: u32) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file: File = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_link(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != owner::current_user() || metadata.mode() & rights != 0 {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Replaces a file and creates missing directories. The bytes are on disk when this returns; a reader never sees a part
/// of them.
///
/// # Errors
/// If it cannot be written; the former file is kept.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    draft::replace(path, Some(0o600), bytes)
}

/// Tests whether a directory is writable, and leaves nothing there. The file's name cannot be guessed, and an existing
/// file or link of that name is not opened.
///
/// # Errors
/// If the directory is not writable.
pub fn try_to_write(directory: &Path) -> io::Result<()> {
    let probe = directory.join(format!(".hob-probe-{:016x}", RandomState::new().build_hasher().finish()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&probe)?;
    let written = file.write_all(b"probe");
    fs::remove_file(&probe).and(written)
}

fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn whole_private_and_of_nobody_else() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/b/file");
        assert_eq!(read(&path, 10).unwrap(), None);
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(read(&path, 10).unwrap().as_deref(), Some(&b"two"[..]));
        assert_eq!(read(&path, 2).unwrap().as_deref(), Some(&b"tw"[..]));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
        // A link, a directory, and a file that others could have read.
        let link = temp.path().join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(read(&link, 10).unwrap(), None);
        assert_eq!(read(temp.path(), 10).unwrap(), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(read(&path, 10).unwrap(), None);
        // A draft that cannot be put in place leaves nothing behind.
        replace(path.parent().unwrap(), b"three").unwrap_err();
        assert_eq!(fs::read_dir(temp.path().join("a")).unwrap().count(), 1);
        replace(&link, b"four").unwrap();
        assert_eq!((read(&link, 10).unwrap().unwrap(), fs::read(&path).unwrap()), (b"four".to_vec(), b"two".to_vec()));
    }

    #[test]
    fn trying_to_write_leaves_nothing_and_says_why_not() {
        let temp = tempfile::tempdir().unwrap();
        try_to_write(temp.path()).unwrap();
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
        assert_eq!(try_to_write(&temp.path().join("absent")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

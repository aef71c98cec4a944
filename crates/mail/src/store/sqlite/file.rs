//! A store's file before SQLite opens it. Anything may be at its path. A new file appears complete or not at all, so an
//! empty file is never a store: it is an error, not a mailbox without mail.

use std::fs::{self, FileType, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::{explain, sync_folder};
use crate::error::StoreError;

const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Returns true if there is a file that SQLite may open. Nothing is opened, so nothing can hang.
///
/// # Errors
/// If another kind of entry is at the path, or at a neighbouring path that SQLite would open.
pub(crate) fn is_there(path: &Path) -> Result<bool, StoreError> {
    for suffix in BESIDE {
        let beside = with_suffix(path, suffix);
        if let Some(kind) = kind_of(&beside)?.and_then(no_file) {
            let next = "Move it aside: SQLite keeps a separate file there. Then call again.".to_owned();
            return Err(StoreError::Strange { path: beside, what: kind, next });
        }
    }
    let Some(kind) = kind_of(path)? else {
        let log = with_suffix(path, "-wal");
        if size(&log) > 0 {
            let next = format!(
                "{name} is missing, and its log has the latest changes. Put {name} back next to the log; or move the \
                 log aside to start with an empty store.",
                name = name_of(path)
            );
            return Err(StoreError::Strange { path: log, what: "is the log of a missing file", next });
        }
        return Ok(false);
    };
    if let Some(what) = no_file(kind) {
        let next = format!(
            "Move it aside, and put {} back if you have it; otherwise the next call creates an empty one.",
            name_of(path)
        );
        return Err(StoreError::Strange { path: path.to_owned(), what, next });
    }
    if size(path) == 0 {
        let next = format!(
            "Another program emptied it; hob changed nothing. Put a copy of {name} in its place if you have one; \
             otherwise delete it, with its -wal and -shm files, to create an empty one.",
            name = name_of(path)
        );
        return Err(StoreError::Strange { path: path.to_owned(), what: "is empty (0 bytes)", next });
    }
    Ok(true)
}

/// Makes a file with the contents that `fill` writes, unless another process has made it. The file is on disk when this
/// returns.
pub(crate) fn make(path: &Path, fill: impl FnOnce(&Connection) -> Result<(), StoreError>) -> Result<(), StoreError> {
    let draft = with_suffix(path, &format!(".new-{}", std::process::id()));
    let made = draw(&draft, fill).and_then(|()| put(&draft, path).map_err(|error| cannot_make(&error, path)));
    for suffix in ["", "-journal"] {
        let _ = fs::remove_file(with_suffix(&draft, suffix));
    }
    made?;
    sync_folder(path)
}

fn draw(draft: &Path, fill: impl FnOnce(&Connection) -> Result<(), StoreError>) -> Result<(), StoreError> {
    for suffix in ["", "-journal"] {
        let _ = fs::remove_file(with_suffix(draft, suffix));
    }
    let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft);
    new.map_err(|error| cannot_make(&error, draft))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = Connection::open_with_flags(draft, flags).map_err(explain)?;
    db.execute_batch("PRAGMA synchronous = FULL").map_err(explain)?;
    fill(&db)?;
    db.close().map_err(|(_, error)| explain(error))
}

/// Renames the draft to `path`, unless another process has made the file.
fn put(draft: &Path, path: &Path) -> io::Result<()> {
    match renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => Ok(()),
        // Not every file system can rename without replacing; a hard link never replaces.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match fs::hard_link(draft, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        },
        other => Ok(other?),
    }
}

fn cannot_make(error: &io::Error, path: &Path) -> StoreError {
    let reason = format!("cannot create {}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => StoreError::ReadOnly { reason },
        _ => StoreError::Away { reason },
    }
}

fn kind_of(path: &Path) -> Result<Option<FileType>, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata.file_type())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(StoreError::Away { reason: format!("cannot examine {}: {error}", path.display()) }),
    }
}

/// Returns the kind of an entry that is not a file.
fn no_file(kind: FileType) -> Option<&'static str> {
    match kind {
        _ if kind.is_file() => None,
        _ if kind.is_dir() => Some("is a directory, not a file"),
        _ if kind.is_symlink() => Some("is a link, not a file"),
        _ if kind.is_fifo() => Some("is a FIFO, not a file"),
        _ if kind.is_socket() => Some("is a socket, not a file"),
        _ => Some("is a device, not a file"),
    }
}

fn size(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |metadata| metadata.len())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().display().to_string()
}

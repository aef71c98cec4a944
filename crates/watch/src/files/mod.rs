//! Access to files: relative to the root's descriptor and never through a symbolic link. Only directories and regular
//! files are opened.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as platform;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as platform;

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::FileKind;

pub(crate) use platform::{LOOK_UP, shared_file_system};

/// File times have the resolution of the kernel's clock tick, at most 10 ms. A second change within one tick is invisible.
const RACY: u64 = 50_000_000;

/// Metadata that identifies a version of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub(crate) kind: FileKind,
    pub(crate) device: u64,
    inode: u64,
    size: u64,
    mode: u32,
    modified: (i64, u64),
    changed: (i64, u64),
    is_racy: bool,
}

/// Fields of a file's metadata whose types differ between systems.
struct Fields {
    device: u64,
    mode: u32,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        let key = |stamp: &Self| (stamp.kind, stamp.device, stamp.inode, stamp.size, stamp.modified, stamp.changed);
        key(self) == key(other)
    }
}

impl Stamp {
    fn new(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Symlink,
            _ => FileKind::Other,
        };
        let Fields { device, mode, modified, changed } = platform::fields(stat);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let at = u128::try_from(changed.0).unwrap_or(0) * 1_000_000_000 + u128::from(changed.1);
        Self {
            kind,
            device,
            inode: stat.st_ino,
            size: stat.st_size.unsigned_abs(),
            mode,
            modified,
            changed,
            // Compared in both directions, so that a server clock in the future does not cause a change at every look.
            is_racy: now.abs_diff(at) < u128::from(RACY),
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == FileKind::Directory
    }

    /// True if the file was examined so soon after its last change that another change might be invisible.
    pub(crate) fn is_racy(&self) -> bool {
        self.is_racy
    }

    /// True if the directory was replaced, or its permissions changed.
    pub(crate) fn has_other_access(&self, before: &Self) -> bool {
        (self.device, self.inode, self.mode) != (before.device, before.inode, before.mode)
    }

    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// Reason why a path could not be examined.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The path does not exist, or is a different kind of file.
    Gone,
    /// Permission was denied, or the path is too long.
    Denied,
    /// Another error (no descriptors, no memory, a broken disk). The state is unknown.
    Unknown(Errno),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::STALE => Self::Gone,
            Errno::ACCESS | Errno::PERM | Errno::NAMETOOLONG => Self::Denied,
            other => Self::Unknown(other),
        }
    }
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens the root. It is reopened for each round, because an open descriptor does not show that the directory was
/// removed.
pub(crate) fn open_root(root: &Path) -> Result<(OwnedFd, Stamp), Failure> {
    let opened = rustix::fs::open(root, DIRECTORY | LOOK_UP, Mode::empty())?;
    let stamp = Stamp::new(&rustix::fs::fstat(&opened)?);
    Ok((opened, stamp))
}

/// Opens a directory to look up names ([`LOOK_UP`]) or to read it ([`OFlags::RDONLY`]).
pub(crate) fn open_directory(root: BorrowedFd<'_>, path: &Path, how: OFlags) -> Result<OwnedFd, Failure> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    platform::open_below(root, path, how)
}

/// Opens a directory one component at a time.
fn open_by_steps(root: BorrowedFd<'_>, path: &Path, how: OFlags) -> Result<OwnedFd, Failure> {
    let mut names = path.iter().peekable();
    let mut opened: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        let from = opened.as_ref().map_or(root, |opened| opened.as_fd());
        let how = if names.peek().is_some() { LOOK_UP } else { how };
        opened = Some(rustix::fs::openat(from, name, DIRECTORY | how, Mode::empty())?);
    }
    opened.ok_or(Failure::Gone)
}

/// Returns the stamp of a name in the opened directory without following it.
pub(crate) fn stat(directory: BorrowedFd<'_>, name: &Path) -> Result<Stamp, Failure> {
    Ok(Stamp::new(&rustix::fs::statat(directory, name, platform::NO_FOLLOW)?))
}

/// Returns the sorted names in the opened directory, at most `limit`, and true if there are more.
pub(crate) fn names(directory: BorrowedFd<'_>, limit: usize) -> Result<(Vec<OsString>, bool), Failure> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if names.len() == limit {
            return Ok((names, true));
        }
        names.push(OsStr::from_bytes(name).to_owned());
    }
    names.sort();
    Ok((names, false))
}

/// Reads a regular file of at most `limit` bytes in the opened directory.
pub(crate) fn read_regular(directory: BorrowedFd<'_>, name: &Path, limit: usize) -> Result<Option<Vec<u8>>, Failure> {
    let is_file = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    // Opening a device can have side effects. If one replaces the file after this check, opening it at least does not block.
    if !is_file(&rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?) {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    if !is_file(&rustix::fs::fstat(&file)?) {
        return Ok(None);
    }
    let mut content = Vec::new();
    let read = std::fs::File::from(file).take(limit as u64 + 1).read_to_end(&mut content);
    read.map_err(|error| Failure::Unknown(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    Ok((content.len() <= limit).then_some(content))
}

/// True if the absolute path leaves room for a file name within the kernel's path limit.
pub(crate) fn fits(root: &Path, path: &Path) -> bool {
    const PATH_MAX: usize = 4096;
    const NAME_MAX: usize = 255;
    root.as_os_str().len() + path.as_os_str().len() + NAME_MAX + 3 <= PATH_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_not_gone_through() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", place.path().join("link")).unwrap();
        let (root, _) = open_root(place.path()).unwrap();
        let open = |path: &str| open_directory(root.as_fd(), Path::new(path), OFlags::RDONLY).map(drop);
        assert_eq!((open(""), open("a/b")), (Ok(()), Ok(())));
        assert_eq!((open("link"), open("link/b")), (Err(Failure::Gone), Err(Failure::Gone)));
        assert_eq!((open("a/../.."), open("gone")), (Err(Failure::Gone), Err(Failure::Gone)));
        assert_eq!(stat(root.as_fd(), Path::new("link")).unwrap().kind, FileKind::Symlink);
    }
}

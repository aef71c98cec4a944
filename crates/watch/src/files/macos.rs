//! macOS: directories are opened one component at a time. Type-checked only: it has never run.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, OFlags, Stat};

use super::{Failure, Fields};

/// Opens a directory to look up names in it. The system has no `O_PATH`, so it must also be readable.
pub(crate) const LOOK_UP: OFlags = OFlags::RDONLY;
pub(super) const NO_FOLLOW: AtFlags = AtFlags::SYMLINK_NOFOLLOW;

pub(super) fn fields(stat: &Stat) -> Fields {
    let time = |seconds, nanos: i64| (seconds, nanos.unsigned_abs());
    Fields {
        device: u64::from(stat.st_dev.cast_unsigned()),
        mode: u32::from(stat.st_mode),
        modified: time(stat.st_mtime, stat.st_mtime_nsec),
        changed: time(stat.st_ctime, stat.st_ctime_nsec),
    }
}

/// Opens a directory below the root, through no symbolic link.
pub(super) fn open_below(root: BorrowedFd<'_>, path: &Path, how: OFlags) -> Result<OwnedFd, Failure> {
    super::open_by_steps(root, path, how)
}

/// Returns `None`: every tree is polled, on each file system.
pub(crate) fn shared_file_system(_: BorrowedFd<'_>) -> Option<&'static str> {
    None
}

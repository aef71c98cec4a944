//! macOS: a function without an equivalent call does nothing. Type-checked only: it has never run.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::pty::OpenptFlags;

/// Does nothing: orphans go to the first process. [`crate::Group::end`] still finds those in the session's process group,
/// and those with its nonce in their environment.
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// Does nothing: priorities are not grouped by session.
pub(crate) fn lower_session_priority(_: i32) {}

/// Marks every descriptor from `first` up to be closed at exec. Only system calls: runs between fork and exec.
#[expect(unsafe_code, reason = "a descriptor known by its number alone is not borrowed")]
pub(crate) fn close_on_exec_from(first: u32) {
    /// The limit of descriptors may be unlimited; a process that has more keeps the rest open.
    const MOST: i32 = 10_240;
    // SAFETY: sets a flag on descriptors and closes none; a number without a descriptor is refused.
    unsafe {
        for number in first.cast_signed()..libc::getdtablesize().min(MOST) {
            libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// Does nothing, because the kernel enforces each limit.
pub(crate) fn set_mark(_: Option<u64>) {}

/// Returns `None`: processes have no mark.
pub(crate) fn mark(_: i32) -> Option<u64> {
    None
}

/// Does nothing: the system chooses the size of a pipe.
pub(crate) fn set_pipe_size(_: impl AsFd, _: usize) {}

/// Returns a terminal: the end that keeps it, and the one for the child.
pub(crate) fn new_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let path = rustix::pty::ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((ours, theirs))
}

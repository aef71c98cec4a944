//! Linux: see prctl(2), close_range(2), sched(7), getrlimit(2), fcntl(2) and ioctl_tty(2).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::pty::OpenptFlags;

/// Makes this process the parent of orphaned descendants.
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Lowers the priority of this process's session. Only system calls: runs between fork and exec.
pub(crate) fn lower_session_priority(nice: i32) {
    // Where the kernel groups processes by session (sched(7), autogroup), niceness counts only within a group, and the
    // child has a group to itself: only the group's own niceness affects others. Best effort, as not every kernel
    // groups them.
    let digits = [b'0' + (nice / 10) as u8, b'0' + (nice % 10) as u8];
    if let Ok(group) = rustix::fs::open(c"/proc/self/autogroup", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        // A leading zero would make the number octal.
        let _ = rustix::io::write(&group, &digits[usize::from(nice < 10)..]);
    }
}

/// Marks every descriptor from `first` up to be closed at exec. Our own descriptors already are, but inherited ones are
/// not.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_on_exec_from(first: u32) {
    // SAFETY: sets a flag on descriptors and closes none. A kernel older than 5.11 refuses; then inherited descriptors
    // stay open.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Sets or removes the mark of this process: the soft limit of file locks. If the limit already has another use, nothing
/// is set.
pub(crate) fn set_mark(mark: Option<u64>) {
    let maximum = getrlimit(Resource::Locks).maximum;
    let _ = setrlimit(Resource::Locks, Rlimit { current: mark.or(maximum), maximum });
}

/// Returns the mark of a process.
#[expect(unsafe_code, reason = "rustix's prlimit knows no RLIMIT_LOCKS of another process")]
pub(crate) fn mark(pid: i32) -> Option<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: sets nothing, and writes the answer to a value of our own.
    let asked = unsafe { libc::prlimit64(pid, libc::RLIMIT_LOCKS, std::ptr::null(), &raw mut limit) };
    (asked == 0).then_some(limit.rlim_cur)
}

/// Sets the size of a pipe, if the kernel allows it.
pub(crate) fn set_pipe_size(pipe: impl AsFd, size: usize) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, size);
}

/// Returns a terminal: the end that keeps it, and the one for the child.
pub(crate) fn new_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags)?;
    Ok((ours, theirs))
}

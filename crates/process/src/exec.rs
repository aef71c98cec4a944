//! Changes that a child makes to itself between fork and exec. Only system calls: nothing here allocates or takes a lock.

use rustix::fs::{Mode, OFlags};

/// Raises the niceness of this process and its future children to at least `nice`. Only system calls: runs between fork
/// and exec.
pub(crate) fn lower_priority(nice: i32) -> rustix::io::Result<()> {
    let now = rustix::process::getpriority_process(None)?;
    if now < nice {
        rustix::process::setpriority_process(None, nice)?;
    }
    // Where the kernel groups processes by session (sched(7), autogroup), niceness counts only within a group, and the
    // child has a group to itself: only the group's own niceness affects others. Best effort, as not every kernel
    // groups them.
    let digits = [b'0' + (nice / 10) as u8, b'0' + (nice % 10) as u8];
    if let Ok(group) = rustix::fs::open(c"/proc/self/autogroup", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        // A leading zero would make the number octal.
        let _ = rustix::io::write(&group, &digits[usize::from(nice < 10)..]);
    }
    Ok(())
}

/// Marks every descriptor from `first` up to be closed at exec. Our own descriptors already are, but inherited ones are
/// not.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_on_exec_from(first: u32) {
    // SAFETY: sets a flag on descriptors and closes none. A kernel older than 5.11 refuses; then inherited descriptors
    // stay open.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Resets every signal to its default and unblocks all: exec inherits ignored and blocked signals (a shell's background
/// job ignores SIGINT, which then could never interrupt a program).
#[expect(unsafe_code, reason = "rustix sets no signal dispositions")]
pub(crate) fn default_signals() {
    // SAFETY: plain system calls on values of our own; the C library harmlessly refuses the numbers it reserves.
    unsafe {
        for number in 1..=64 {
            libc::signal(number, libc::SIG_DFL);
        }
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

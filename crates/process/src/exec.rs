//! Changes that a child makes to itself between fork and exec. Only system calls: nothing here allocates or takes a lock.

use crate::platform;
pub(crate) use crate::platform::close_on_exec_from;

/// Raises the niceness of this process and its future children to at least `nice`. Only system calls: runs between fork
/// and exec.
pub(crate) fn lower_priority(nice: i32) -> rustix::io::Result<()> {
    let now = rustix::process::getpriority_process(None)?;
    if now < nice {
        rustix::process::setpriority_process(None, nice)?;
    }
    platform::lower_session_priority(nice);
    Ok(())
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

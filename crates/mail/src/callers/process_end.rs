//! The end of a caller's process, as a pidfd.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::unix::AsyncFd;

/// Returns a descriptor of the process that becomes readable when it ends (pidfd_open(2)).
pub(super) fn descriptor(pid: u32) -> Option<AsyncFd<OwnedFd>> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    let descriptor = pidfd_open(pid, PidfdFlags::NONBLOCK).ok()?;
    #[allow(unsafe_code)]
    // SAFETY: the registration owns the descriptor, so the descriptor stays open as long as the registration lives.
    unsafe { AsyncFd::register(descriptor) }.ok()
}

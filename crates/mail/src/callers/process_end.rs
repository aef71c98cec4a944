//! The end of a caller's process, as a descriptor.

use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// Returns a descriptor of the process that becomes readable when it ends.
pub(super) fn descriptor(pid: u32) -> Option<AsyncFd<OwnedFd>> {
    let descriptor = system::end_descriptor(i32::try_from(pid).ok()?).ok()?;
    #[allow(unsafe_code)]
    // SAFETY: the registration owns the descriptor, so the descriptor stays open as long as the registration lives.
    unsafe { AsyncFd::register(descriptor) }.ok()
}

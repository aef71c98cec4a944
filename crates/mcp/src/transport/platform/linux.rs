//! Linux: procfs, and an ioctl of sockets.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{Getter, Opcode};
use rustix::net::SendFlags;

/// Sends without waiting, and without a signal if the peer is gone.
pub(crate) const SEND_FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// Opens a pipe or a terminal again, which gives a separate description that does not wait.
pub(crate) fn reopen(descriptor: &OwnedFd, access: OFlags) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Bytes sent on a socket that the peer has not read yet (`SIOCOUTQ`, see unix(7)).
pub(crate) fn unsent(socket: impl AsFd) -> io::Result<c_int> {
    const SIOCOUTQ: Opcode = 0x5411;
    #[allow(unsafe_code)]
    // SAFETY: SIOCOUTQ writes one `int` through its argument, and this getter provides one.
    let unread = unsafe { rustix::ioctl::ioctl(socket, Getter::<SIOCOUTQ, c_int>::new()) }?;
    Ok(unread)
}

//! macOS: the runtime's threads serve pipes and terminals. Type-checked only: it has never run.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::net::SendFlags;

/// Sends without waiting. The system has no flag against the signal, which Rust programs ignore.
pub(crate) const SEND_FLAGS: SendFlags = SendFlags::DONTWAIT;

/// Refuses: an entry of `/dev/fd` gives the same description again.
pub(crate) fn reopen(_: &OwnedFd, _: OFlags) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Refuses: what a peer has not read yet is not reported.
pub(crate) fn unsent(_: impl AsFd) -> io::Result<c_int> {
    Err(io::ErrorKind::Unsupported.into())
}

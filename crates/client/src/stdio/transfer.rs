//! Reads and writes descriptors; reports how a stream ended and how much was written.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::event::PollFlags;
use rustix::io::Errno;

use super::output::wait;

/// The size of one read, in bytes.
const READ: usize = 64 * 1024;

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The end of the data.
    Plain,
    /// The peer disconnected without reading everything. The kernel reports that only once.
    Unread,
}

/// Reads the available bytes into the buffer, waiting for at least one byte.
pub(super) fn read_some(input: &impl AsFd, buffer: &mut Vec<u8>) -> Result<(), End> {
    buffer.reserve(READ);
    loop {
        match rustix::io::read(input, rustix::buffer::spare_capacity(buffer)) {
            Ok(1..) => return Ok(()),
            Ok(0) => return Err(End::Plain),
            Err(Errno::INTR) => {}
            // Another process that shares the description made it non-blocking.
            Err(Errno::AGAIN) if wait(input, PollFlags::IN).is_ok() => {}
            Err(Errno::CONNRESET) => return Err(End::Unread),
            Err(_) => return Err(End::Plain),
        }
    }
}

/// Writes, and returns the number of bytes written.
pub(super) fn write_counted(mut stream: &UnixStream, bytes: &[u8]) -> (usize, Result<(), End>) {
    let mut written = 0;
    while written < bytes.len() {
        match stream.write(&bytes[written..]) {
            Ok(count @ 1..) => written += count,
            Ok(0) => return (written, Err(End::Plain)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return (written, Err(End::Unread)),
            Err(_) => return (written, Err(End::Plain)),
        }
    }
    (written, Ok(()))
}

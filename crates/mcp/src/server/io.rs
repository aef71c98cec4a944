//! The two streams of a connection and their buffers. `wire` and `connection_state.rs` interpret the bytes.

use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use super::wire_tap::TappedOutput;
use crate::wire::Framer;

/// The size of a first read; busy connections read more at once.
const SMALL: usize = 8 << 10;
/// The capacity of a pipe.
const LARGE: usize = 64 << 10;

/// The largest buffer that an idle connection keeps: there may be very many connections, and a list of tools is large.
const KEEP: usize = 2 << 10;

/// The number of written bytes after which the rest of the output is moved to the beginning of its buffer.
const MOVED: usize = 16 << 10;

/// Output that waits to be written. Offsets count from the beginning of the connection.
#[derive(Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    start: usize,
    written: u64,
    /// True if the peer has disconnected: further output is discarded.
    dead: bool,
}

impl Output {
    /// Returns the buffer to append to.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        if self.dead {
            self.bytes.clear();
        }
        &mut self.bytes
    }

    /// Bytes that wait to be written.
    pub(super) fn pending(&self) -> usize {
        if self.dead { 0 } else { self.bytes.len() - self.start }
    }

    /// Bytes written since the beginning.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Returns the offset that the next appended byte will have.
    pub(super) fn end(&self) -> u64 {
        self.written + self.pending() as u64
    }

    /// Returns true if exactly one line waits to be written.
    #[cfg(feature = "http")]
    pub(super) fn is_line(&self) -> bool {
        memchr::memchr(b'\n', &self.bytes[self.start..]).is_some_and(|at| self.start + at + 1 == self.bytes.len())
    }

    /// Takes all pending bytes, which then count as written.
    #[cfg(feature = "http")]
    pub(super) fn take_all(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.drain(..self.start);
        self.start = 0;
        self.written += bytes.len() as u64;
        bytes
    }

    pub(super) fn kill(&mut self) {
        self.dead = true;
        self.bytes = Vec::new();
        self.start = 0;
    }

    fn advance(&mut self, count: usize) {
        self.start += count;
        self.written += count as u64;
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > MOVED && self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }

    /// Releases a large buffer that is empty.
    pub(super) fn shrink(&mut self) {
        if self.bytes.is_empty() && self.bytes.capacity() > KEEP {
            self.bytes = Vec::new();
        }
    }
}

pub(super) struct Io<R, W> {
    reader: R,
    writer: W,
    read_size: usize,
    flushed: bool,
    tap: Option<TappedOutput>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Io<R, W> {
    pub(super) fn new(reader: R, writer: W, tap: Option<TappedOutput>) -> Io<R, W> {
        Io { reader, writer, read_size: SMALL, flushed: true, tap }
    }

    /// Returns true if the writer has flushed everything.
    pub(super) fn is_flushed(&self) -> bool {
        self.flushed
    }

    /// Reads some bytes into the framer; 0 at the end of input. Cancel safe.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, framer: &mut Framer) -> Poll<io::Result<usize>> {
        let polled = match self.read_size {
            // A small read uses the stack, so that an idle connection holds no buffer.
            SMALL => {
                let mut place = [MaybeUninit::uninit(); SMALL];
                let mut read = ReadBuf::uninit(&mut place);
                let polled = Pin::new(&mut self.reader).poll_read(cx, &mut read);
                framer.push(read.filled());
                polled.map_ok(|()| read.filled().len())
            }
            size => {
                let buffer = framer.buffer();
                buffer.reserve(size);
                pin!(self.reader.read_buf(buffer)).poll(cx)
            }
        };
        if polled.is_pending() {
            framer.shrink(KEEP);
            self.read_size = SMALL;
        }
        let count = ready!(polled)?;
        if count >= self.read_size {
            self.read_size = (self.read_size * 2).min(LARGE);
        } else if count < self.read_size / 8 {
            self.read_size = SMALL;
        }
        Poll::Ready(Ok(count))
    }

    /// Writes some of the output, and flushes the writer after the last part. Ready when it made progress. Cancel safe.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        if out.pending() == 0 {
            if self.flushed {
                return Poll::Pending;
            }
            ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
            self.flushed = true;
            return Poll::Ready(Ok(()));
        }
        let count = ready!(Pin::new(&mut self.writer).poll_write(cx, &out.bytes[out.start..]))?;
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        if let Some(tap) = &mut self.tap {
            tap.wrote(&out.bytes[out.start..out.start + count]);
        }
        out.advance(count);
        self.flushed = false;
        // Flushing rarely waits, so it needs no other turn of the loop.
        if out.pending() == 0 && Pin::new(&mut self.writer).poll_flush(cx)?.is_ready() {
            self.flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}

//! Any descriptor as an asynchronous stream, without `O_NONBLOCK` on a shared description: standard streams are often
//! shared with a parent or a shell, which would see the flag.
//!
//! A socket takes a flag per call. A pipe or a terminal is opened again, which gives a separate description. A
//! descriptor that cannot be polled (a file) or opened is left to the runtime's blocking threads.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::task::coop;

use super::platform;
use crate::server::Drained;
use crate::wire::BusyWait;

/// One direction of a descriptor.
pub(super) enum Descriptor {
    /// A socket or a pipe for reading.
    Incoming(Incoming),
    /// A socket for writing.
    Outgoing(Outgoing),
    /// A pipe for writing, or a terminal, opened again as non-blocking.
    Reopened(AsyncFd<OwnedFd>),
    Blocking(tokio::fs::File),
}

impl Descriptor {
    /// Returns a stream to read from. Must run on a runtime with I/O.
    pub(super) fn reader(fd: OwnedFd) -> io::Result<Descriptor> {
        Descriptor::new(fd, OFlags::RDONLY, Interest::READABLE)
    }

    /// Returns a stream to write to. Must run on a runtime with I/O.
    pub(super) fn writer(fd: OwnedFd) -> io::Result<Descriptor> {
        match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
            FileType::Socket => Ok(Descriptor::Outgoing(Outgoing { fd, full: None })),
            _ => Descriptor::new(fd, OFlags::WRONLY, Interest::WRITABLE),
        }
    }

    fn new(fd: OwnedFd, access: OFlags, interest: Interest) -> io::Result<Descriptor> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
        let reopened = || -> io::Result<AsyncFd<OwnedFd>> { register(platform::reopen(&fd, access)?, interest) };
        let polled = match kind {
            FileType::Socket => fd.try_clone().and_then(|fd| register(fd, interest)).map(Descriptor::socket),
            FileType::Fifo if access == OFlags::RDONLY => reopened().map(Descriptor::pipe),
            FileType::Fifo => reopened().map(Descriptor::Reopened),
            FileType::CharacterDevice if rustix::termios::isatty(&fd) => reopened().map(Descriptor::Reopened),
            _ => Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(polled.unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::Unsupported {
                tracing::debug!(%error, ?kind, "a standard stream cannot be polled; a thread serves it");
            }
            Descriptor::Blocking(tokio::fs::File::from_std(File::from(fd)))
        }))
    }

    fn socket(fd: AsyncFd<OwnedFd>) -> Descriptor {
        let read: ReadFn = |fd, buf| Ok(rustix::net::recv(fd, buf, RecvFlags::DONTWAIT)?.0.0.len());
        Descriptor::Incoming(Incoming { fd, read, wrote: WroteFlag::default(), busy_wait: BusyWait::default() })
    }

    fn pipe(fd: AsyncFd<OwnedFd>) -> Descriptor {
        let read: ReadFn = |fd, buf| Ok(rustix::io::read(fd, buf)?.0.len());
        Descriptor::Incoming(Incoming { fd, read, wrote: WroteFlag::default(), busy_wait: BusyWait::default() })
    }
}

/// Reads without waiting. Returns how many bytes it wrote, from the beginning of the buffer.
type ReadFn = fn(&OwnedFd, &mut [MaybeUninit<u8>]) -> Result<usize, Errno>;

/// Reads into the free part of a buffer, without clearing it first.
fn fill(
    buf: &mut ReadBuf<'_>,
    read: impl FnOnce(&mut [MaybeUninit<u8>]) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    #[allow(unsafe_code)]
    // SAFETY: the readers only write to the slice that they get, and return how many bytes they wrote at its beginning.
    unsafe {
        let count = read(buf.unfilled_mut())?;
        buf.assume_init(count);
        buf.advance(count);
        Ok(count)
    }
}

/// The reading side of a socket or a pipe. After messages in quick succession it waits busily for the next.
pub(super) struct Incoming {
    fd: AsyncFd<OwnedFd>,
    read: ReadFn,
    wrote: WroteFlag,
    busy_wait: BusyWait,
}

/// True if something was written since the reader last checked.
type WroteFlag = Arc<AtomicBool>;

/// Both directions of a connection. The reader learns when something was written, because a peer that was answered may
/// soon ask again.
pub(super) fn halves(input: OwnedFd, output: OwnedFd) -> io::Result<(Descriptor, Writer)> {
    let (reader, writer) = (Descriptor::reader(input)?, Descriptor::writer(output)?);
    let wrote = match &reader {
        Descriptor::Incoming(incoming) => incoming.wrote.clone(),
        _ => WroteFlag::default(),
    };
    Ok((reader, Writer { to: writer, wrote }))
}

/// The writing side of a connection, which tells the reader that it wrote.
pub(super) struct Writer {
    to: Descriptor,
    wrote: WroteFlag,
}

impl AsyncWrite for Writer {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.to).poll_write(cx, bytes);
        self.wrote.fetch_or(matches!(polled, Poll::Ready(Ok(_))), Ordering::Relaxed);
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.to).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.to).poll_shutdown(cx)
    }
}

impl Incoming {
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.wrote.swap(false, Ordering::Relaxed) {
            self.busy_wait.begin();
        }
        loop {
            let guard = match self.fd.poll_read_ready(cx)? {
                Poll::Ready(guard) => Some(guard),
                Poll::Pending => None,
            };
            // Not ready may also mean that the task's cooperative budget is used up.
            if guard.is_none() && !(coop::has_budget_remaining() && self.busy_wait.should_poll()) {
                return Poll::Pending;
            }
            let room = buf.remaining();
            match fill(buf, |free| (self.read)(self.fd.get_ref(), free)) {
                Ok(count) => {
                    if let (Some(mut guard), true) = (guard, count > 0 && count < room) {
                        // A short read means that no more input waits, so no further read is needed.
                        guard.clear_ready();
                    }
                    self.busy_wait.message_arrived();
                    return Poll::Ready(Ok(()));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => match guard {
                    Some(mut guard) => guard.clear_ready(),
                    None => {
                        std::thread::yield_now();
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                },
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

/// The writing side of a socket, registered only while the socket is full: a registered writer is woken each time its
/// peer reads, and for a small answer that wake-up would cost more than the answer.
pub(super) struct Outgoing {
    fd: OwnedFd,
    full: Option<AsyncFd<OwnedFd>>,
}

impl Outgoing {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            match rustix::net::send(&self.fd, bytes, platform::SEND_FLAGS) {
                Ok(count) => {
                    self.full = None;
                    return Poll::Ready(Ok(count));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let full = match &mut self.full {
                        Some(full) => full,
                        none => none.insert(register(self.fd.try_clone()?, Interest::WRITABLE)?),
                    };
                    ready!(full.poll_write_ready(cx))?.clear_ready();
                }
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    #[allow(unsafe_code)]
    // SAFETY: an `OwnedFd` always gives the same descriptor, and it is open for as long as the `AsyncFd` owns it.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

impl AsyncRead for Descriptor {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let fd = match self.get_mut() {
            Descriptor::Incoming(incoming) => return incoming.poll_read(cx, buf),
            Descriptor::Reopened(fd) => fd,
            Descriptor::Outgoing(_) => return Poll::Ready(Err(io::ErrorKind::Unsupported.into())),
            Descriptor::Blocking(file) => return Pin::new(file).poll_read(cx, buf),
        };
        loop {
            let mut guard = ready!(fd.poll_read_ready(cx))?;
            match guard.try_io(|fd| Ok(fill(buf, |free| Ok(rustix::io::read(fd, free)?.0.len()))?)) {
                Ok(Ok(_)) => return Poll::Ready(Ok(())),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for Descriptor {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let fd = match self.get_mut() {
            Descriptor::Outgoing(socket) => return socket.poll_write(cx, bytes),
            Descriptor::Reopened(fd) => fd,
            Descriptor::Incoming(_) => return Poll::Ready(Err(io::ErrorKind::Unsupported.into())),
            Descriptor::Blocking(file) => return Pin::new(file).poll_write(cx, bytes),
        };
        loop {
            let mut guard = ready!(fd.poll_write_ready(cx))?;
            match guard.try_io(|fd| Ok(rustix::io::write(fd, bytes)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(done) => return Poll::Ready(done),
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Descriptor::Blocking(file) => Pin::new(file).poll_flush(cx),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

/// Returns a function that tells whether the peer has read everything that was written to this descriptor; `None` for a
/// kind of descriptor that cannot tell.
pub(super) fn drained(fd: OwnedFd) -> Option<Drained> {
    match FileType::from_raw_mode(rustix::fs::fstat(&fd).ok()?.st_mode) {
        FileType::Fifo => Some(Box::new(move || rustix::io::ioctl_fionread(&fd).ok().map(|unread| unread == 0))),
        FileType::Socket => Some(Box::new(move || platform::unsent(&fd).ok().map(|unread| unread == 0))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::AtomicUsize;
    use std::task::{Wake, Waker};

    use super::*;

    /// Counts wake-ups, by which a busy wait asks to be polled again at once.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn the_next_question_is_looked_out_for_once_the_last_is_answered() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let ours = OwnedFd::from(ours);
        let (mut reader, mut writer) = halves(ours.try_clone().expect("room"), ours).expect("a socket");
        let looks = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&looks));
        let mut cx = Context::from_waker(&waker);
        let mut read = || {
            let mut buffer = [0; 8];
            let polled = Pin::new(&mut reader).poll_read(&mut cx, &mut ReadBuf::new(&mut buffer)).map(drop);
            (polled, looks.0.swap(0, Ordering::Relaxed))
        };
        let mut answer = async || tokio::io::AsyncWriteExt::write_all(&mut writer, b"answer").await.expect("room");
        let ask = || assert_eq!(rustix::io::write(&theirs, b"question").expect("room"), 8);
        // Repeated, since a busy machine may delay the next message so much that the busy wait has ended.
        for _ in 0..10_000 {
            assert_eq!(read(), (Poll::Pending, 0), "the last question is not answered yet");
            answer().await;
            if read() == (Poll::Pending, 1) {
                return;
            }
            ask();
            while read().0.is_pending() {
                tokio::task::yield_now().await;
            }
        }
        panic!("no question was looked out for");
    }
}

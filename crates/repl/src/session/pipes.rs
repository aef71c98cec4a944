//! The session's ends of its pipes: reading without waiting, and writing what the pipe takes.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;

use process::Extra;
use rustix::io::Errno;
use tokio::net::unix::pipe;

use super::Stream;
use super::scan::{Scanner, Segment};
use crate::adapter::{Channel, Nonce};

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// An output stream, cut at its markers.
#[derive(Debug)]
pub(super) struct OutputPipe {
    pub(super) stream: Stream,
    pipe: Option<OwnedFd>,
    /// What wakes us when something comes, unless it is muted.
    readiness: Option<pipe::Receiver>,
    scanner: Scanner,
    buffer: Vec<u8>,
}

/// What reading found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadOutcome {
    /// Something; there may be more.
    Some,
    /// Something, and that was all.
    Last,
    /// Nothing at the moment.
    Nothing,
    /// The end, now or before.
    End,
}

impl OutputPipe {
    pub(super) fn new(stream: Stream, pipe: Option<pipe::Receiver>, nonce: &Nonce) -> OutputPipe {
        let pipe = pipe.and_then(|pipe| pipe.into_nonblocking_fd().ok());
        let mut output =
            OutputPipe { stream, pipe, readiness: None, scanner: Scanner::new(nonce), buffer: vec![0; CHUNK] };
        output.unmute();
        output
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// From now on nobody is woken by what comes. It stays in the pipe, and can be read.
    pub(super) fn mute(&mut self) {
        self.readiness = None;
    }

    /// We are woken again by what comes, and by what has come meanwhile. Where there are no descriptors left for that,
    /// says so.
    pub(super) fn unmute(&mut self) -> bool {
        if let (Some(pipe), None) = (&self.pipe, &self.readiness) {
            let readiness = pipe.try_clone().and_then(pipe::Receiver::from_owned_fd_unchecked);
            self.readiness = readiness.ok();
            return self.readiness.is_some();
        }
        true
    }

    /// Resolves when reading is worth a try; never after the end, nor while it is muted. Cancel safe.
    pub(super) async fn readable(&self) {
        match &self.readiness {
            // An error shows when reading.
            Some(readiness) => drop(readiness.readable().await),
            None => pending().await,
        }
    }

    /// Reads once, past the runtime's idea of readiness: what the kernel has now counts.
    pub(super) fn read(&mut self, sink: impl FnMut(Segment<'_>)) -> ReadOutcome {
        let Some(pipe) = &self.pipe else { return ReadOutcome::End };
        let mut read = None;
        // A pipe that gave less than it was asked for is empty. Saying so to the runtime in here, where it knows which
        // edge was read, saves the read that would only say the same, and cannot hide a later edge.
        if let Some(readiness) = &self.readiness {
            let _ = readiness.try_io(|| {
                let found = rustix::io::read(pipe, &mut self.buffer);
                let more = matches!(found, Ok(CHUNK | 0) | Err(Errno::INTR));
                read = Some(found);
                if more { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
            });
        }
        let count = match read.unwrap_or_else(|| rustix::io::read(pipe, &mut self.buffer)) {
            Ok(count) => count,
            Err(Errno::INTR) => return ReadOutcome::Some,
            Err(Errno::AGAIN) => return ReadOutcome::Nothing,
            Err(_) => 0,
        };
        if count == 0 {
            self.close(sink);
            return ReadOutcome::End;
        }
        self.scanner.push(&self.buffer[..count], sink);
        if count == CHUNK { ReadOutcome::Some } else { ReadOutcome::Last }
    }

    /// Gives up on the rest.
    pub(super) fn close(&mut self, sink: impl FnMut(Segment<'_>)) {
        (self.pipe, self.readiness) = (None, None);
        self.scanner.finish(sink);
    }
}

/// A pipe to the program, with what it has not taken yet.
#[derive(Debug)]
pub(super) struct InputPipe {
    pipe: Option<pipe::Sender>,
    waiting: VecDeque<Vec<u8>>,
    written: usize,
    closing: bool,
}

impl InputPipe {
    pub(super) fn new(pipe: Option<pipe::Sender>) -> InputPipe {
        InputPipe { pipe, waiting: VecDeque::new(), written: 0, closing: false }
    }

    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() && self.pipe.is_some() {
            self.waiting.push_back(bytes);
            self.write();
        }
    }

    /// Closes the pipe when everything is written.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.write();
    }

    /// The pipe itself, for whoever ends the session; what waits is lost.
    pub(super) fn take(&mut self) -> Option<pipe::Sender> {
        self.waiting.clear();
        self.pipe.take()
    }

    /// Resolves when more can be written; never if there is nothing. Cancel safe.
    pub(super) async fn writable(&self) {
        match &self.pipe {
            Some(pipe) if !self.waiting.is_empty() => drop(pipe.writable().await),
            _ => pending().await,
        }
    }

    /// Writes what the pipe takes now.
    pub(super) fn write(&mut self) {
        while let (Some(pipe), Some(front)) = (&self.pipe, self.waiting.front()) {
            match pipe.try_write(&front[self.written..]) {
                Ok(count) => {
                    self.written += count;
                    if self.written == front.len() {
                        self.waiting.pop_front();
                        self.written = 0;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Nobody reads any more: the exit will tell.
                Err(_) => {
                    self.waiting.clear();
                    self.written = 0;
                    self.pipe = None;
                }
            }
        }
        if self.closing {
            self.pipe = None;
        }
    }

    /// Whether the program has not read all that was written.
    pub(super) fn has_unread(&self) -> bool {
        let unread = self.pipe.as_ref().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok());
        !self.waiting.is_empty() || unread.is_some_and(|bytes| bytes > 0)
    }
}

/// Standard input, and the channel of code where that is another.
#[derive(Debug)]
pub(super) struct InputPipes {
    pub(super) stdin: InputPipe,
    apart: Option<InputPipe>,
}

impl InputPipes {
    pub(super) fn new(channel: Channel, stdin: Option<pipe::Sender>, extra: Vec<Extra>) -> InputPipes {
        let code = extra.into_iter().find_map(|extra| match extra {
            Extra::ToChild(pipe) => Some(pipe),
            Extra::FromChild(_) => None,
        });
        InputPipes { stdin: InputPipe::new(stdin), apart: (channel == Channel::Apart).then(|| InputPipe::new(code)) }
    }

    /// Where code goes.
    pub(super) fn code(&mut self) -> &mut InputPipe {
        self.apart.as_mut().unwrap_or(&mut self.stdin)
    }

    /// Resolves when more can be written to either. Cancel safe.
    pub(super) async fn writable(&self) {
        match &self.apart {
            Some(apart) => tokio::select! {
                () = self.stdin.writable() => {}
                () = apart.writable() => {}
            },
            None => self.stdin.writable().await,
        }
    }

    /// Writes what the pipes take now.
    pub(super) fn write(&mut self) {
        self.stdin.write();
        if let Some(apart) = &mut self.apart {
            apart.write();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn output(stream: Stream) -> (pipe::Sender, OutputPipe) {
        let (ours, theirs) = pipe::pipe().expect("a pipe");
        // A known one: what looks like the beginning of a marker is held back.
        (ours, OutputPipe::new(stream, Some(theirs), &Nonce::known("0123456789abcdef0123456789abcdef")))
    }

    fn wakes(output: &OutputPipe) -> bool {
        let readable = std::pin::pin!(output.readable());
        readable.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    fn read(output: &mut OutputPipe) -> (ReadOutcome, Vec<u8>) {
        let mut data = Vec::new();
        let found = output.read(|segment| {
            if let Segment::Data(bytes) = segment {
                data.extend_from_slice(bytes);
            }
        });
        (found, data)
    }

    #[tokio::test]
    async fn what_is_muted_wakes_nobody_and_is_not_lost() {
        let ((to_out, mut out), (to_err, err)) = (output(Stream::Stdout), output(Stream::Stderr));
        out.mute();
        rustix::io::write(&to_out, b"one").expect("room");
        rustix::io::write(&to_err, b"later").expect("room");
        err.readable().await;
        assert!(!wakes(&out), "it was told with what came later");
        assert_eq!(read(&mut out), (ReadOutcome::Last, b"one".to_vec()));
        assert_eq!(read(&mut out).0, ReadOutcome::Nothing);
        rustix::io::write(&to_out, b"two").expect("room");
        assert!(out.unmute());
        out.readable().await;
        assert_eq!(read(&mut out), (ReadOutcome::Last, b"two".to_vec()));
        assert!(!wakes(&out));
        out.mute();
        drop(to_out);
        assert_eq!(read(&mut out).0, ReadOutcome::End);
        assert!(out.unmute() && !out.is_open());
    }
}

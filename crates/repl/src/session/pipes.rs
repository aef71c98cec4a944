//! The session's ends of its pipes: reading without waiting, and writing what the pipe takes.

use std::collections::VecDeque;
use std::future::pending;
use std::io;

use process::Extra;
use rustix::io::Errno;
use tokio::net::unix::pipe;

use super::Stream;
use super::scan::{Piece, Scanner};
use crate::adapter::{Channel, Nonce};

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// An output stream, cut at its markers.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) stream: Stream,
    pipe: Option<pipe::Receiver>,
    scanner: Scanner,
    buffer: Vec<u8>,
}

/// What reading found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Something; there may be more.
    Some,
    /// Something, and that was all.
    Last,
    /// Nothing at the moment.
    Nothing,
    /// The end, now or before.
    End,
}

impl Output {
    pub(super) fn new(stream: Stream, pipe: Option<pipe::Receiver>, nonce: &Nonce) -> Output {
        Output { stream, pipe, scanner: Scanner::new(nonce), buffer: vec![0; CHUNK] }
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Resolves when reading is worth a try; never after the end. Cancel safe.
    pub(super) async fn readable(&self) {
        match &self.pipe {
            // An error shows when reading.
            Some(pipe) => drop(pipe.readable().await),
            None => pending().await,
        }
    }

    /// Reads once, past the runtime's idea of readiness: what the kernel has now counts.
    pub(super) fn read(&mut self, sink: impl FnMut(Piece<'_>)) -> Found {
        let Some(pipe) = &self.pipe else { return Found::End };
        let mut read = None;
        // A pipe that gave less than it was asked for is empty. Saying so to the runtime in here, where it knows which
        // edge was read, saves the read that would only say the same, and cannot hide a later edge.
        let _ = pipe.try_io(|| {
            let now = rustix::io::read(pipe, &mut self.buffer);
            let more = matches!(now, Ok(CHUNK | 0) | Err(Errno::INTR));
            read = Some(now);
            if more { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
        });
        let count = match read.unwrap_or_else(|| rustix::io::read(pipe, &mut self.buffer)) {
            Ok(count) => count,
            Err(Errno::INTR) => return Found::Some,
            Err(Errno::AGAIN) => return Found::Nothing,
            Err(_) => 0,
        };
        if count == 0 {
            self.pipe = None;
            self.scanner.finish(sink);
            return Found::End;
        }
        self.scanner.push(&self.buffer[..count], sink);
        if count == CHUNK { Found::Some } else { Found::Last }
    }

    /// Gives up on the rest.
    pub(super) fn close(&mut self, sink: impl FnMut(Piece<'_>)) {
        self.pipe = None;
        self.scanner.finish(sink);
    }
}

/// A pipe to the program, with what it has not taken yet.
#[derive(Debug)]
pub(super) struct Input {
    pipe: Option<pipe::Sender>,
    waiting: VecDeque<Vec<u8>>,
    written: usize,
    closing: bool,
}

impl Input {
    pub(super) fn new(pipe: Option<pipe::Sender>) -> Input {
        Input { pipe, waiting: VecDeque::new(), written: 0, closing: false }
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
pub(super) struct Inputs {
    pub(super) stdin: Input,
    apart: Option<Input>,
}

impl Inputs {
    pub(super) fn new(channel: Channel, stdin: Option<pipe::Sender>, extra: Vec<Extra>) -> Inputs {
        let code = extra.into_iter().find_map(|extra| match extra {
            Extra::ToChild(pipe) => Some(pipe),
            Extra::FromChild(_) => None,
        });
        Inputs { stdin: Input::new(stdin), apart: (channel == Channel::Apart).then(|| Input::new(code)) }
    }

    /// Where code goes.
    pub(super) fn code(&mut self) -> &mut Input {
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

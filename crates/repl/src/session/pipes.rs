//! The daemon's ends of a session's pipes: non-blocking reads and writes.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use process::Extra;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Dev;
use rustix::io::Errno;
use tokio::net::unix::pipe;

use super::prompts::PromptScanner;
use super::scan::{Scanner, Segment};
use super::{Screen, Stream};
use crate::adapter::prompt::PromptTable;
use crate::adapter::{Channel, Nonce};

/// The largest single read.
const CHUNK: usize = 64 * 1024;

/// An output stream, split at its markers.
#[derive(Debug)]
pub(super) struct OutputPipe {
    pub(super) stream: Stream,
    pipe: Option<OwnedFd>,
    /// Wakes the loop when output comes, unless muted.
    readiness: Option<pipe::Receiver>,
    scanner: Split,
    buffer: Vec<u8>,
    /// The screen that shows the output, if it comes from a terminal.
    screen: Option<Screen>,
}

/// The way a stream is split.
#[derive(Debug)]
enum Split {
    Markers(Box<Scanner>),
    Prompts(Box<PromptScanner>),
}

/// The outcome of one read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadOutcome {
    /// Read something; there may be more.
    Some,
    /// Read something and emptied the pipe.
    Last,
    /// The pipe is empty.
    Nothing,
    /// End of file, now or earlier.
    End,
}

impl OutputPipe {
    pub(super) fn new(stream: Stream, pipe: Option<pipe::Receiver>, nonce: &Nonce) -> OutputPipe {
        let pipe = pipe.and_then(|pipe| pipe.into_nonblocking_fd().ok());
        let mut output = OutputPipe {
            stream,
            pipe,
            readiness: None,
            scanner: Split::Markers(Box::new(Scanner::new(nonce))),
            buffer: vec![0; CHUNK],
            screen: None,
        };
        output.unmute();
        output
    }

    /// Splits the stream at prompts instead of markers.
    pub(super) fn at_prompts(mut self, table: Option<&PromptTable>, nonce: &Nonce) -> OutputPipe {
        if let Some(table) = table {
            self.scanner = Split::Prompts(Box::new(PromptScanner::new(table, nonce)));
        }
        self
    }

    /// Shows the output of a terminal on a screen.
    pub(super) fn on_screen(mut self, screen: Option<Screen>) -> OutputPipe {
        self.screen = screen;
        self
    }

    /// Returns the scanner of a stream that is split at prompts.
    pub(super) fn prompts(&mut self) -> Option<&mut PromptScanner> {
        match &mut self.scanner {
            Split::Prompts(prompts) => Some(prompts),
            Split::Markers(_) => None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Stops waking the loop. Output stays in the pipe and can be read.
    pub(super) fn mute(&mut self) {
        self.readiness = None;
    }

    /// Wakes the loop again for new output and for output that arrived meanwhile. Returns false if the process is out
    /// of file descriptors.
    pub(super) fn unmute(&mut self) -> bool {
        if let (Some(pipe), None) = (&self.pipe, &self.readiness) {
            let readiness = pipe.try_clone().and_then(pipe::Receiver::from_owned_fd_unchecked);
            self.readiness = readiness.ok();
            return self.readiness.is_some();
        }
        true
    }

    /// Resolves when a read is worth trying; never after the end of file or while muted. Cancel safe.
    pub(super) async fn readable(&self) {
        match &self.readiness {
            // A read reports the error.
            Some(readiness) => drop(readiness.readable().await),
            None => pending().await,
        }
    }

    /// Reads once, bypassing the runtime's cached readiness: only the kernel's state counts.
    pub(super) fn read(&mut self, sink: impl FnMut(Segment<'_>)) -> ReadOutcome {
        let Some(pipe) = &self.pipe else { return ReadOutcome::End };
        let mut read = None;
        // A pipe that gave less than requested is empty; a terminal never gives more than a page. Telling the runtime here, where it knows which edge was read,
        // saves a read that would only return EAGAIN, and cannot hide a later edge.
        if let Some(readiness) = &self.readiness {
            let _ = readiness.try_io(|| {
                let found = rustix::io::read(pipe, &mut self.buffer);
                let more = matches!(found, Ok(CHUNK | 0) | Err(Errno::INTR)) || self.screen.is_some() && found.is_ok();
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
        if let Some(screen) = &self.screen {
            screen.draw(&self.buffer[..count]);
        }
        match &mut self.scanner {
            Split::Markers(scanner) => scanner.push(&self.buffer[..count], sink),
            Split::Prompts(prompts) => prompts.push(&self.buffer[..count], sink),
        }
        if count == CHUNK || self.screen.is_some() { ReadOutcome::Some } else { ReadOutcome::Last }
    }

    /// Stops reading and releases the bytes that the scanner holds.
    pub(super) fn close(&mut self, sink: impl FnMut(Segment<'_>)) {
        (self.pipe, self.readiness) = (None, None);
        match &mut self.scanner {
            Split::Markers(scanner) => scanner.finish(sink),
            Split::Prompts(prompts) => prompts.finish(sink),
        }
    }
}

/// A pipe to the program, with the bytes that it has not accepted yet.
#[derive(Debug)]
pub(super) struct InputPipe {
    pipe: Option<pipe::Sender>,
    /// Device and inode of the pipe.
    identity: Option<(Dev, u64)>,
    waiting: VecDeque<Vec<u8>>,
    written: usize,
    closing: bool,
    /// True if it is a terminal.
    terminal: bool,
}

impl InputPipe {
    pub(super) fn new(pipe: Option<pipe::Sender>) -> InputPipe {
        let identity = pipe.as_ref().and_then(identity);
        let terminal = pipe.as_ref().is_some_and(rustix::termios::isatty);
        InputPipe { pipe, identity, waiting: VecDeque::new(), written: 0, closing: false, terminal }
    }

    /// Reopens a closed pipe by its other end in a process.
    fn reopen(&mut self, pid: i32) {
        if self.closing && self.pipe.is_none() {
            // The program may have replaced it by another file.
            let end = system::reopen_input(pid).filter(|end| identity(end) == self.identity);
            self.pipe = end.and_then(|end| pipe::Sender::from_owned_fd(end).ok());
            self.closing = self.pipe.is_none();
        }
    }

    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() && self.pipe.is_some() {
            self.waiting.push_back(bytes);
            self.write();
        }
    }

    /// Writes what a terminal answers, unless the program does not even read what was typed.
    pub(super) fn answer(&mut self, bytes: Vec<u8>) {
        if self.waiting.is_empty() {
            self.push(bytes);
        }
    }

    /// Closes the pipe once everything is written.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.write();
    }

    /// Takes the pipe out, for the kill ladder; unwritten bytes are dropped.
    pub(super) fn take(&mut self) -> Option<pipe::Sender> {
        self.waiting.clear();
        self.pipe.take()
    }

    /// Resolves when more can be written; never without pending bytes. Cancel safe.
    pub(super) async fn writable(&self) {
        match &self.pipe {
            Some(pipe) if !self.waiting.is_empty() => drop(pipe.writable().await),
            _ => pending().await,
        }
    }

    /// Writes as much as the pipe accepts now.
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
                // The reader is gone: the exit of the process will report it.
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

    /// Returns true if the program has not read all written bytes.
    pub(super) fn has_unread(&self) -> bool {
        let unread = match &self.pipe {
            Some(pipe) if self.terminal => has_typed(pipe),
            Some(pipe) => rustix::io::ioctl_fionread(pipe).is_ok_and(|bytes| bytes > 0),
            None => false,
        };
        unread || !self.waiting.is_empty()
    }
}

/// Returns true if the program on the terminal has something to read. The question makes the kernel hand over first
/// what was typed.
fn has_typed(terminal: &impl AsFd) -> bool {
    let theirs = system::open_terminal_peer(terminal);
    theirs.is_ok_and(|theirs| poll(&mut [PollFd::new(&theirs, PollFlags::IN)], Some(&Timespec::default())) == Ok(1))
}

fn identity(fd: &impl AsFd) -> Option<(Dev, u64)> {
    rustix::fs::fstat(fd).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

/// Standard input, and the code channel if that is another pipe.
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

    /// Returns the pipe for code.
    pub(super) fn code(&mut self) -> &mut InputPipe {
        self.apart.as_mut().unwrap_or(&mut self.stdin)
    }

    /// Reopens standard input if it was closed and the REPL itself does not read it.
    pub(super) fn reopen(&mut self, pid: i32) {
        if self.apart.is_some() {
            self.stdin.reopen(pid);
        }
    }

    /// Resolves when more can be written to either pipe. Cancel safe.
    pub(super) async fn writable(&self) {
        match &self.apart {
            Some(apart) => tokio::select! {
                () = self.stdin.writable() => {}
                () = apart.writable() => {}
            },
            None => self.stdin.writable().await,
        }
    }

    /// Writes as much as the pipes accept now.
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
        // The nonce is fixed: bytes that look like the beginning of a marker are held back.
        (ours, OutputPipe::new(stream, Some(theirs), &Nonce::fixed("0123456789abcdef0123456789abcdef")))
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

//! Standard output, used by no other code in the process: only whole lines, in few writes.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Bytes gathered before a write; also the capacity that an idle buffer keeps.
const BATCH: usize = 64 * 1024;
/// The time to wait for the reader before a line that must be separate from the last one.
const DRAINED_WITHIN: Duration = Duration::from_millis(250);
/// Minimum time between two lines that must be separate.
const APART: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Output {
    file: File,
    queue: Queue,
    buffer: Vec<u8>,
    last_write: Instant,
}

/// How the kernel reports the unread part of our output.
#[derive(Debug, Clone, Copy)]
enum Queue {
    /// A pipe: either end can see how full it is.
    Pipe,
    /// A socket or a terminal: the bytes still to be sent.
    Outgoing,
    /// A file: it has no reader to wait for.
    None,
}

impl Output {
    /// Takes over standard output: descriptor 1 then leads to standard error, so that a stray print cannot break the
    /// protocol.
    pub(super) fn take_stdout() -> io::Result<Output> {
        let taken = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Output::new(taken)
    }

    /// Creates an output of whole lines to any descriptor.
    pub(super) fn new(descriptor: OwnedFd) -> io::Result<Output> {
        let file = File::from(descriptor);
        let kind = file.metadata()?.file_type();
        let queue = match () {
            () if kind.is_fifo() => Queue::Pipe,
            () if kind.is_socket() || kind.is_char_device() => Queue::Outgoing,
            () => Queue::None,
        };
        Ok(Output { file, queue, buffer: Vec::new(), last_write: Instant::now() })
    }

    /// Appends a line.
    pub(super) fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(line);
        self.buffer.push(b'\n');
        if self.buffer.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Appends whole lines.
    pub(super) fn lines(&mut self, lines: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(lines);
        if self.buffer.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Writes the appended data.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut rest = self.buffer.as_slice();
        while !rest.is_empty() {
            match rustix::io::write(&self.file, rest) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => {}
                // Another process that shares the description made it non-blocking.
                Err(Errno::AGAIN) => wait(&self.file, PollFlags::OUT)?,
                Err(errno) => return Err(errno.into()),
            }
        }
        self.last_write = Instant::now();
        self.buffer.clear();
        self.buffer.shrink_to(BATCH);
        Ok(())
    }

    /// Writes the appended data and waits, within limits, until the reader has received it and had time to handle it.
    pub(super) fn gap(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() && self.last_write.elapsed() >= APART && self.unread() == 0 {
            return Ok(());
        }
        self.flush()?;
        let deadline = Instant::now() + DRAINED_WITHIN;
        while self.unread() > 0 && Instant::now() < deadline {
            thread::sleep(APART / 5);
        }
        thread::sleep(APART);
        Ok(())
    }

    fn unread(&self) -> u64 {
        match self.queue {
            Queue::Pipe => rustix::io::ioctl_fionread(&self.file).unwrap_or(0),
            Queue::Outgoing => system::unsent(&self.file),
            Queue::None => 0,
        }
    }
}

/// Waits until a non-blocking descriptor is ready.
pub(super) fn wait(file: &impl AsFd, flags: PollFlags) -> io::Result<()> {
    match poll(&mut [PollFd::new(file, flags)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn apart_means_in_two_reads() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut output = Output::new(ours.into()).unwrap();
        let reader = thread::spawn(move || {
            let (mut reads, mut chunk) = (Vec::new(), [0; 64]);
            while let Ok(count @ 1..) = theirs.read(&mut chunk) {
                reads.push(String::from_utf8_lossy(&chunk[..count]).into_owned());
            }
            reads
        });
        output.line(b"progress").unwrap();
        output.gap().unwrap();
        output.line(b"answer").unwrap();
        output.flush().unwrap();
        drop(output);
        assert_eq!(reader.join().unwrap(), ["progress\n", "answer\n"]);
    }

    #[test]
    fn a_full_non_blocking_pipe_is_waited_for() {
        let (theirs, ours) = rustix::pipe::pipe().unwrap();
        rustix::io::ioctl_fionbio(&ours, true).unwrap();
        let mut output = Output::new(ours).unwrap();
        let line = vec![b'x'; 300_000];
        let reader = thread::spawn(move || {
            let mut all = Vec::new();
            File::from(theirs).read_to_end(&mut all).unwrap();
            all
        });
        output.line(&line).unwrap();
        output.flush().unwrap();
        drop(output);
        assert_eq!(reader.join().unwrap().len(), 300_001);
    }
}

//! Waits for the daemon's next line: busily while lines follow each other closely, otherwise asleep.

use std::os::unix::net::UnixStream;
use std::thread;

use mcp::wire::BusyWait;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::output::wait;

/// A poll that does not wait.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The state of the wait for an answer.
#[derive(Default)]
pub(super) struct Pause(BusyWait);

impl Pause {
    /// Waits until there is something to read, or the end. Polls instead of reading: a read on a socket also wakes up
    /// when the daemon receives earlier data.
    pub(super) fn wait(&mut self, stream: &UnixStream) {
        self.0.begin();
        while self.0.should_poll() {
            if !matches!(poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&NOW)), Ok(0)) {
                return self.0.message_arrived();
            }
            thread::yield_now();
        }
        // The following read reports errors.
        let _ = wait(stream, PollFlags::IN);
        self.0.message_arrived();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_looks_out_only_after_what_came_soon() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut pause = Pause::default();
        theirs.write_all(b"x").unwrap();
        pause.wait(&ours);
        pause.0.begin();
        assert!(pause.0.should_poll(), "what was there already came soon");
        let late = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20)); // sleeps: the gap between two messages is what is tested
            theirs.write_all(b"y").unwrap();
            theirs
        });
        rustix::io::read(&ours, &mut [0; 8]).unwrap();
        pause.wait(&ours);
        pause.0.begin();
        assert!(!pause.0.should_poll(), "the next one came late");
        let theirs = late.join().unwrap();
        rustix::io::read(&ours, &mut [0; 8]).unwrap();
        drop(theirs);
        pause.wait(&ours);
    }
}

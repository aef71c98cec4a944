//! How the front-end waits for the daemon's next line: asleep, or for a moment awake.

use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::output::wait;

/// To look without waiting.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// How an answer is waited for. Waking a sleeping processor takes longer than a quick answer of the daemon's, so after
/// answers in quick succession the next one is looked for a moment longer, letting everybody else go first.
#[derive(Default)]
pub(super) struct Pace {
    brisk: bool,
}

impl Pace {
    /// How soon an answer comes that makes the next one worth looking out for.
    const BRISK: Duration = Duration::from_micros(200);
    /// How long it is looked out for.
    const LOOK_OUT: Duration = Duration::from_micros(100);

    /// Waits until there is something to read, or the end. Not by reading: who waits so on a socket is woken also when
    /// the daemon takes what was written to it.
    pub(super) fn wait(&mut self, stream: &UnixStream) {
        let begun = Instant::now();
        while self.brisk && begun.elapsed() < Self::LOOK_OUT {
            if !matches!(poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&NOW)), Ok(0)) {
                return;
            }
            thread::yield_now();
        }
        // Errors show when reading.
        let _ = wait(stream, PollFlags::IN);
        self.brisk = begun.elapsed() < Self::BRISK;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn it_looks_out_only_after_what_came_soon() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut pace = Pace::default();
        theirs.write_all(b"x").unwrap();
        pace.wait(&ours);
        assert!(pace.brisk, "what was there already came soon");
        let late = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20)); // sleeps: the gap between two messages is what is tested
            theirs.write_all(b"y").unwrap();
            theirs
        });
        rustix::io::read(&ours, &mut [0; 8]).unwrap();
        pace.wait(&ours);
        assert!(!pace.brisk, "the next one came late");
        let theirs = late.join().unwrap();
        rustix::io::read(&ours, &mut [0; 8]).unwrap();
        drop(theirs);
        pace.wait(&ours);
    }
}

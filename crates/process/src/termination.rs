//! The ladder that ends a session: ask, close its input, TERM, KILL; then end all escaped processes, and reap.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;

use crate::exit::Exit;
use crate::group::Group;
use crate::procfs::ProcessSet;
use crate::subreaper;

/// How long each rung waits for the program to end before the next one.
#[derive(Debug, Clone)]
pub struct Ladder {
    /// The line that makes the program exit, with its newline. `None`, or a `quit_wait` of zero, skips this rung.
    pub quit: Option<Vec<u8>>,
    /// The wait after the quit line.
    pub quit_wait: Duration,
    /// The wait after closing the program's input.
    pub close_wait: Duration,
    /// The wait after TERM to the group. Escaped descendants get the same grace.
    pub term_wait: Duration,
    /// The wait after KILL to the group.
    pub kill_wait: Duration,
}

impl Default for Ladder {
    fn default() -> Ladder {
        Ladder {
            quit: None,
            quit_wait: Duration::from_millis(500),
            close_wait: Duration::from_millis(300),
            term_wait: Duration::from_millis(500),
            kill_wait: Duration::from_secs(2),
        }
    }
}

impl Ladder {
    /// Returns a ladder of KILL only, for programs that are known to ignore the other rungs.
    pub fn at_once() -> Ladder {
        let none = Duration::ZERO;
        Ladder { quit_wait: none, close_wait: none, term_wait: none, ..Ladder::default() }
    }
}

/// The rung at which the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// It had ended before.
    AlreadyEnded,
    /// It obeyed the quit line.
    Quit,
    /// It ended when its input was closed.
    CloseInput,
    /// It ended on TERM.
    Terminate,
    /// It was killed.
    Kill,
    /// Not even KILL ended it in time: it hangs in the kernel. Its guardian keeps trying.
    Stuck,
}

/// The outcome of [`Group::end`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndReport {
    /// The last rung that the first process needed.
    pub rung: Rung,
    /// How it ended; `None` only when stuck.
    pub exit: Option<Exit>,
    /// The time that the whole ladder took.
    pub took: Duration,
    /// The number of other processes of the session that were signalled individually, after the first had ended.
    pub swept: usize,
    /// The number of remaining processes: 0 unless one hangs in the kernel.
    pub left: usize,
}

impl Group {
    /// Ends the session and everything that descends from it, then releases guardian and record. Pass the program's
    /// input if you hold it: the first two rungs need it. It may be called again; later calls find the session ended.
    ///
    /// Keep reading the program's output meanwhile: a program blocked on a full pipe cannot end. Dropping the future
    /// leaves the session somewhere on the ladder; call again, or drop the group.
    pub async fn end(&self, mut stdin: Option<pipe::Sender>, ladder: &Ladder) -> EndReport {
        let began = Instant::now();
        let mut exit = self.exit();
        // Look before the parents end: only they identify processes that left the session.
        let group = self.clone();
        let look =
            tokio::task::spawn_blocking(move || group.members().into_iter().map(|member| member.key()).collect());
        let known: ProcessSet = look.await.unwrap_or_default();
        let rung = self.climb(&mut stdin, &mut exit, ladder).await;
        drop(stdin);
        let identity = self.identity().clone();
        let (grace, limit) = (ladder.term_wait, ladder.term_wait + ladder.kill_wait);
        let sweep = tokio::task::spawn_blocking(move || {
            let found = identity.end(known, grace, limit);
            subreaper::reap_adopted();
            found
        });
        let (swept, left) = sweep.await.unwrap_or((0, 0));
        if left == 0 && rung != Rung::Stuck {
            self.release();
        }
        let exit = *exit.borrow();
        EndReport { rung, exit, took: began.elapsed(), swept, left }
    }

    async fn climb(
        &self,
        stdin: &mut Option<pipe::Sender>,
        exit: &mut watch::Receiver<Option<Exit>>,
        ladder: &Ladder,
    ) -> Rung {
        if exit.borrow().is_some() {
            return Rung::AlreadyEnded;
        }
        if let (Some(input), Some(quit), false) = (stdin.as_mut(), &ladder.quit, ladder.quit_wait.is_zero()) {
            let asked = async {
                // The wait includes writing: a full pipe must not block us. A closed pipe proves nothing yet.
                let _ = input.write_all(quit).await;
                ended(exit).await;
            };
            if tokio::time::timeout(ladder.quit_wait, asked).await.is_ok() {
                return Rung::Quit;
            }
        }
        if stdin.take().is_some() && exited_within(ladder.close_wait, exit).await {
            return Rung::CloseInput;
        }
        if !ladder.term_wait.is_zero() {
            // A failure means that it has just exited, which the wait detects.
            let _ = self.signal(Signal::TERM);
            let _ = self.signal(Signal::CONT);
            if exited_within(ladder.term_wait, exit).await {
                return Rung::Terminate;
            }
        }
        let _ = self.signal(Signal::KILL);
        if exited_within(ladder.kill_wait, exit).await { Rung::Kill } else { Rung::Stuck }
    }
}

async fn exited_within(time: Duration, exit: &mut watch::Receiver<Option<Exit>>) -> bool {
    !time.is_zero() && tokio::time::timeout(time, ended(exit)).await.is_ok()
}

async fn ended(exit: &mut watch::Receiver<Option<Exit>>) {
    if exit.wait_for(Option::is_some).await.is_err() {
        // The watching task is gone without a result: the runtime shuts down. The rungs' waits bound this.
        std::future::pending::<()>().await;
    }
}

//! Runs short-lived programs with limits on output and time.

use std::ffi::OsString;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::exit::Exit;
use crate::spec::{SpawnError, Spec};
use crate::termination::Ladder;

/// The limits of a program.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The time limit.
    pub deadline: Duration,
    /// The limit of its standard output, in bytes.
    pub stdout: usize,
    /// The kept part of its standard error, in bytes; the rest is dropped.
    pub stderr: usize,
}

/// A program's answer.
#[derive(Debug)]
pub struct Answer {
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    pub exit: Exit,
}

/// Reasons why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It exceeded the time limit, and was ended.
    #[error("{program:?} did not end within {after:?}")]
    Late { program: OsString, after: Duration },
    /// It exceeded the output limit, and was ended.
    #[error("{program:?} printed more than {most} bytes")]
    TooLong { program: OsString, most: usize },
}

impl Spec {
    /// Runs the program to its end, with an empty standard input. If the wait ends early, also by a dropped future, the
    /// program and all its child processes are ended. After a normal exit, the rest of its process group is ended;
    /// daemons that left the group stay, as those of `ssh` and of git's credentials intend. Needs a tokio runtime.
    ///
    /// # Errors
    /// If it does not start, or exceeds its limits. The caller judges its exit status.
    pub async fn answer(self, bounds: Bounds) -> Result<Answer, AnswerError> {
        let program = self.program.clone();
        let mut child = self.spawn()?;
        drop(child.stdin.take());
        let (stdout, stderr, mut exit) = (child.stdout.take(), child.stderr.take(), child.exit.clone());
        let read = async {
            let (stdout, stderr) = tokio::join!(read_bounded(stdout, bounds.stdout), beginning(stderr, bounds.stderr));
            let exit = exit.wait_for(Option::is_some).await.ok().and_then(|exit| *exit);
            (stdout, stderr, exit)
        };
        let read = timeout(bounds.deadline, read).await;
        let answer = match read {
            Ok((Some(stdout), stderr, Some(exit))) => Ok(Answer { stdout, stderr, exit }),
            Ok((None, ..)) => Err(AnswerError::TooLong { program, most: bounds.stdout }),
            _ => Err(AnswerError::Late { program, after: bounds.deadline }),
        };
        if answer.is_err() || child.group.has_group() {
            child.group.end(None, &Ladder::at_once()).await;
        } else {
            // Searching for other descendants, as dropping the group would, takes fifty milliseconds of a thread.
            child.group.release();
        }
        answer
    }
}

/// Returns all output, or `None` if it exceeds `most` bytes.
async fn read_bounded(pipe: Option<pipe::Receiver>, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // An error ends the readable output.
    let _ = pipe?.take(most as u64 + 1).read_to_end(&mut bytes).await;
    (bytes.len() <= most).then_some(bytes)
}

/// Returns the first `most` bytes; the rest is read and dropped, so that the program can continue.
async fn beginning(pipe: Option<pipe::Receiver>, most: usize) -> Vec<u8> {
    let Some(mut pipe) = pipe else { return Vec::new() };
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        let room = most.saturating_sub(bytes.len());
        bytes.extend_from_slice(&buffer[..count.min(room)]);
    }
    bytes
}

//! Programs that are asked something, answer and end: their output within bounds, by a deadline.

use std::ffi::OsString;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::exit::Exit;
use crate::ladder::Ladder;
use crate::spec::{SpawnError, Spec};

/// What a program may take to answer.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// From its start to its end.
    pub deadline: Duration,
    /// Bytes of its standard output.
    pub stdout: usize,
    /// Bytes of its standard error that are kept; what exceeds them is dropped.
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

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It ran for too long, and was ended.
    #[error("{program:?} did not end within {after:?}")]
    Late { program: OsString, after: Duration },
    /// It printed too much, and was ended.
    #[error("{program:?} printed more than {most} bytes")]
    TooLong { program: OsString, most: usize },
}

impl Spec {
    /// Runs the program to its end, with an empty standard input. What ends the wait before that also ends the program and all
    /// that it started, a dropped future included. When it has ended by itself, what it left in its process group is ended; what
    /// made itself a daemon stays, as those of `ssh` and of git's credentials mean to. Needs a tokio runtime.
    ///
    /// # Errors
    /// When it does not start, or exceeds its bounds. How it ended is for the caller to judge.
    pub async fn answer(self, bounds: Bounds) -> Result<Answer, AnswerError> {
        let program = self.program.clone();
        let mut child = self.spawn()?;
        drop(child.stdin.take());
        let (stdout, stderr, mut exit) = (child.stdout.take(), child.stderr.take(), child.exit.clone());
        let read = async {
            let (stdout, stderr) = tokio::join!(whole(stdout, bounds.stdout), beginning(stderr, bounds.stderr));
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
            // To look for what else descends from it, as dropping the group would, takes fifty milliseconds of a thread.
            child.group.release();
        }
        answer
    }
}

/// Returns all that comes, or `None` once it is more than `most`.
async fn whole(pipe: Option<pipe::Receiver>, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // An error is the end of what can be read.
    let _ = pipe?.take(most as u64 + 1).read_to_end(&mut bytes).await;
    (bytes.len() <= most).then_some(bytes)
}

/// Returns the first `most` bytes; the rest is read and dropped, so that the program goes on.
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

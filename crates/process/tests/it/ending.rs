//! Ending: the ladder, what escapes, what outlives, and what happens when the parent is killed.

use std::ffi::OsString;
use std::process::ExitCode;

use process::{Ladder, Rung};

use crate::fixture::{alive, exited, line, shell, until};

/// The life of a parent that starts a session, says so, and waits to be killed.
pub(crate) fn parent(_args: Vec<OsString>) -> ExitCode {
    ExitCode::SUCCESS
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipe_does_not_hide_the_exit() {
    let mut child = shell("sleep 1000 & echo $!; exit 7").spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let grandchild: i32 = line(&mut stdout).await.parse().unwrap();
    assert_eq!(exited(&mut child.exit).await.code, Some(7));
    assert!(alive(grandchild));
    // The pipe is open and empty: no end of file, nothing to read.
    let mut buffer = [0u8; 16];
    assert_eq!(stdout.try_read(&mut buffer).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let ended = child.group.end(None, &Ladder::default()).await;
    assert_eq!((ended.rung, ended.swept, ended.left), (Rung::AlreadyEnded, 1, 0));
    assert!(!alive(grandchild));
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_session() {
    let mut child = shell("sleep 1000 & echo $!; wait").spawn().unwrap();
    let grandchild: i32 = line(child.stdout.as_mut().unwrap()).await.parse().unwrap();
    drop(child);
    until("the guardian ended it", || !alive(grandchild));
}

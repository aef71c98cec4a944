//! A started program: our ends of its pipes, and its exit.
//!
//! The exit is learned from the child itself, never from its pipes: a grandchild may hold those open indefinitely.
//! After [`Exit`], read the available data without waiting for an end of file.

use std::io;
use std::os::fd::OwnedFd;
use std::time::SystemTime;

use tokio::net::unix::pipe;
use tokio::sync::watch;

use crate::exit::Exit;
use crate::group::Group;
use crate::guardian::Guardian;
use crate::nonce::Nonce;
use crate::procfs::{Identity, Member};
use crate::subreaper;

/// A started program. Users take the pipes they need out of it; [`Child::group`] is the handle that is shared.
///
/// Dropping everything, group included, ends the session through its guardian (or at once without a guardian).
#[derive(Debug)]
pub struct Child {
    /// The process number, which is also that of its process group and session.
    pub pid: i32,
    /// The program and all its descendants.
    pub group: Group,
    /// The program's standard input; dropping it closes it.
    pub stdin: Option<pipe::Sender>,
    /// The program's standard output.
    pub stdout: Option<pipe::Receiver>,
    /// The program's standard error, unless it runs on a terminal.
    pub stderr: Option<pipe::Receiver>,
    /// The further descriptors, in the order of [`crate::Spec::extra`].
    pub extra: Vec<Extra>,
    /// Keeps the terminal of [`crate::Spec::terminal`].
    pub terminal: Option<OwnedFd>,
    /// `None` while it runs, then its exit. Changes once.
    pub exit: watch::Receiver<Option<Exit>>,
}

/// Our end of an extra pipe.
#[derive(Debug)]
pub enum Extra {
    /// Data written here goes to the child.
    ToChild(pipe::Sender),
    /// Data read here comes from the child.
    FromChild(pipe::Receiver),
}

/// A running child whose end nothing awaits yet.
pub(crate) struct StartedChild {
    child: tokio::process::Child,
    pid: i32,
    exit: watch::Sender<Option<Exit>>,
}

/// Forks and executes, and registers the child with the reaper as owned.
pub(crate) fn start(command: &mut tokio::process::Command) -> io::Result<StartedChild> {
    let (child, pid) = subreaper::spawn_owned(|| {
        let child = command.spawn()?;
        let pid = child.id().expect("a child that was not awaited has a number").cast_signed();
        Ok((child, pid))
    })?;
    Ok(StartedChild { child, pid, exit: watch::Sender::new(None) })
}

/// Returns the handle on a started child's descendants.
pub(crate) fn group_of(started: &StartedChild, nonce: Nonce, input: String, guardian: Option<Guardian>) -> Group {
    // The child has not been awaited: even if it has ended, its entry is still there.
    let start = Member::read(started.pid).map_or(0, |member| member.start);
    let identity = Identity { nonce, leader: Some((started.pid, start)), since: start };
    Group::new(identity, input, started.exit.subscribe(), guardian)
}

/// Assembles the [`Child`], and starts the task that awaits its end.
pub(crate) fn watch(
    started: StartedChild,
    group: Group,
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    stderr: Option<pipe::Receiver>,
    extra: Vec<Extra>,
) -> Child {
    let StartedChild { child, pid, exit } = started;
    let seen = exit.subscribe();
    tokio::spawn(await_end(child, pid, exit));
    let (stdin, stdout) = (Some(stdin), Some(stdout));
    Child { pid, group, stdin, stdout, stderr, extra, terminal: None, exit: seen }
}

async fn await_end(mut child: tokio::process::Child, pid: i32, exit: watch::Sender<Option<Exit>>) {
    let ended = match child.wait().await {
        Ok(status) => Exit::new(status),
        Err(error) => {
            tracing::error!(pid, %error, "awaiting a child failed; its status is lost");
            Exit { code: None, signal: None, core: false, at: SystemTime::now() }
        }
    };
    subreaper::unregister(pid);
    exit.send_replace(Some(ended));
}

//! A server on its process's standard streams, as clients start them. The streams may be pipes, sockets (Node gives
//! its children those), files or a terminal.
//!
//! Nothing but the protocol may ever reach a protocol's stdout. So the real streams are taken away first: standard
//! output then is standard error, standard input is empty, and whatever prints (a tool, a dependency, a child)
//! prints there.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio;

use super::descriptor;
use crate::server::{ConnectionOptions, End, Server};

/// The real standard streams, taken away from everybody else.
#[derive(Debug)]
pub struct Stdio {
    /// What the client writes.
    pub input: OwnedFd,
    /// What the client reads.
    pub output: OwnedFd,
}

/// Takes the standard streams and serves the one connection on them: all that a program does that is nothing but a
/// server. Where something may print before, [`take`] comes first and [`serve`] last.
pub async fn run(server: &Server) -> io::Result<End> {
    serve(server, take()?, ConnectionOptions::default()).await
}

/// Takes standard input and output away. Call it first thing in `main`.
pub fn take() -> io::Result<Stdio> {
    Ok(Stdio { input: take_stdin()?, output: take_stdout()? })
}

/// Takes standard output: descriptor 1 means standard error from here on.
pub fn take_stdout() -> io::Result<OwnedFd> {
    let output = fcntl_dupfd_cloexec(stdio::stdout(), 3)?;
    match stdio::dup2_stdout(stdio::stderr()) {
        Ok(()) => {}
        // No standard error: what is printed goes nowhere.
        Err(rustix::io::Errno::BADF) => stdio::dup2_stdout(null()?)?,
        Err(error) => return Err(error.into()),
    }
    Ok(output)
}

/// Takes standard input: descriptor 0 is empty from here on, for us and for children.
pub fn take_stdin() -> io::Result<OwnedFd> {
    let input = fcntl_dupfd_cloexec(stdio::stdin(), 3)?;
    stdio::dup2_stdin(null()?)?;
    Ok(input)
}

fn null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// Serves the one connection of the standard streams. An error means that they cannot be used at all.
pub async fn serve(server: &Server, stdio: Stdio, mut options: ConnectionOptions) -> io::Result<End> {
    if options.drained.is_none() {
        options.drained = stdio.output.as_fd().try_clone_to_owned().ok().and_then(descriptor::drained);
    }
    let (reader, writer) = descriptor::halves(stdio.input, stdio.output)?;
    Ok(server.serve(reader, writer, options).await)
}

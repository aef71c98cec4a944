//! A server on the standard streams of its process, as clients start one. The streams may be pipes, sockets (which Node
//! gives to its children), files or a terminal.
//!
//! Only the protocol may write to stdout. So the real streams are taken away first: standard output becomes standard
//! error and standard input is empty, so that output of a tool, a dependency or a child does no harm.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio;

use super::descriptor;
use crate::server::{ConnectionOptions, End, Server};

/// The real standard streams, taken away from the rest of the process.
#[derive(Debug)]
pub struct Stdio {
    /// The input stream, which the client writes.
    pub input: OwnedFd,
    /// The output stream, which the client reads.
    pub output: OwnedFd,
}

/// Takes the standard streams and serves the one connection on them: the whole `main` of a program that is only a
/// server. A program that does other work first calls [`take`] at its start and [`serve`] at its end.
pub async fn run(server: &Server) -> io::Result<End> {
    serve(server, take()?, ConnectionOptions::default()).await
}

/// Takes standard input and output away. Call it first in `main`.
pub fn take() -> io::Result<Stdio> {
    Ok(Stdio { input: take_stdin()?, output: take_stdout()? })
}

/// Takes standard output: from now on descriptor 1 is standard error.
pub fn take_stdout() -> io::Result<OwnedFd> {
    let output = fcntl_dupfd_cloexec(stdio::stdout(), 3)?;
    match stdio::dup2_stdout(stdio::stderr()) {
        Ok(()) => {}
        // Without standard error, output is discarded.
        Err(rustix::io::Errno::BADF) => stdio::dup2_stdout(null()?)?,
        Err(error) => return Err(error.into()),
    }
    Ok(output)
}

/// Takes standard input: from now on descriptor 0 is empty, for this process and for its children.
pub fn take_stdin() -> io::Result<OwnedFd> {
    let input = fcntl_dupfd_cloexec(stdio::stdin(), 3)?;
    stdio::dup2_stdin(null()?)?;
    Ok(input)
}

fn null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// Serves the one connection of the standard streams. An error means that these cannot be used.
pub async fn serve(server: &Server, stdio: Stdio, mut options: ConnectionOptions) -> io::Result<End> {
    if options.drained.is_none() {
        options.drained = stdio.output.as_fd().try_clone_to_owned().ok().and_then(descriptor::drained);
    }
    let (reader, writer) = descriptor::halves(stdio.input, stdio.output)?;
    Ok(server.serve(reader, writer, options).await)
}

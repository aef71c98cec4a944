//! A connection over a Unix socket. Who may connect is the listener's business; so is a greeting before the protocol
//! (what was read past it goes into [`ConnectionOptions::initial`]).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::net::UnixStream;

use super::descriptor::{self, Descriptor, Writer};
use crate::server::{ConnectionOptions, End, Server};

/// Serves one connection until it ends.
pub async fn serve(server: &Server, stream: UnixStream, mut options: ConnectionOptions) -> End {
    if options.drained.is_none() {
        // Without a second descriptor nobody knows what the peer has read, and answers keep a fixed distance.
        options.drained = stream.as_fd().try_clone_to_owned().ok().and_then(descriptor::drained);
    }
    match stream.into_std().and_then(|stream| halves(OwnedFd::from(stream))) {
        Ok((reader, writer)) => server.serve(reader, writer, options).await,
        Err(error) => End::PeerGone(error),
    }
}

/// Both directions apart: one that waits for input only, and one that waits only when it has to.
fn halves(fd: OwnedFd) -> io::Result<(Descriptor, Writer)> {
    descriptor::halves(fd.try_clone()?, fd)
}

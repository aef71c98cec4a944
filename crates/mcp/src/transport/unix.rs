//! A connection over a Unix socket. The embedder owns the listener and decides who may connect. It may exchange a
//! greeting before the protocol (input read beyond it goes into [`ConnectionOptions::initial`]).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::net::UnixStream;

use super::descriptor::{self, Descriptor, Writer};
use crate::server::{ConnectionOptions, End, Server};

/// Serves one connection until it ends.
pub async fn serve(server: &Server, stream: UnixStream, mut options: ConnectionOptions) -> End {
    if options.drained.is_none() {
        // Without a second descriptor the server cannot tell what the peer has read, so answers follow after a fixed
        // pause.
        options.drained = stream.as_fd().try_clone_to_owned().ok().and_then(descriptor::drained);
    }
    match stream.into_std().and_then(|stream| halves(OwnedFd::from(stream))) {
        Ok((reader, writer)) => server.serve(reader, writer, options).await,
        Err(error) => End::PeerGone(error),
    }
}

/// Returns the two directions of a socket: the reader waits for input only, the writer only while the socket is full.
fn halves(fd: OwnedFd) -> io::Result<(Descriptor, Writer)> {
    descriptor::halves(fd.try_clone()?, fd)
}

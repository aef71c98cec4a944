//! A connection over a Unix socket. Who may connect is the listener's business; so is a greeting before the protocol
//! (what was read past it goes into [`ConnectionOptions::initial`]).

use std::os::fd::AsFd;

use tokio::net::UnixStream;

use super::descriptor;
use crate::server::{ConnectionOptions, End, Server};

/// Serves one connection until it ends.
pub async fn serve(server: &Server, stream: UnixStream, mut options: ConnectionOptions) -> End {
    if options.drained.is_none() {
        // Without a second descriptor nobody knows what the peer has read, and answers keep a fixed distance.
        options.drained = stream.as_fd().try_clone_to_owned().ok().and_then(descriptor::drained);
    }
    let (reader, writer) = stream.into_split();
    server.serve(reader, writer, options).await
}

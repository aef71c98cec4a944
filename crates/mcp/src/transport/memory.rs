//! A connection within the process, for tests and for programs that talk to their own server.

use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use crate::server::{ConnectionOptions, End, Server};

/// How much may be under way in each direction.
const BUFFER: usize = 64 << 10;

/// Serves a connection in a task of its own. The stream is the client's end; dropping it ends the connection.
pub fn connect(server: &Server, options: ConnectionOptions) -> (DuplexStream, JoinHandle<End>) {
    let (client, ours) = tokio::io::duplex(BUFFER);
    let server = server.clone();
    let served = tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(ours);
        server.serve(reader, writer, options).await
    });
    (client, served)
}

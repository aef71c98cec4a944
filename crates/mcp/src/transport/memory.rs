//! A connection within the process, for tests and for programs that use their own server.

use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use crate::server::{ConnectionOptions, End, Server};

/// Bytes in flight in each direction.
const BUFFER: usize = 64 << 10;

/// Serves a connection in a separate task, and returns the client's end; dropping that ends the connection.
pub fn connect(server: &Server, options: ConnectionOptions) -> (DuplexStream, JoinHandle<End>) {
    let (client, ours) = tokio::io::duplex(BUFFER);
    let server = server.clone();
    let served = tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(ours);
        server.serve(reader, writer, options).await
    });
    (client, served)
}

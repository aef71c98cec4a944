//! A server that does everything that this library can, and much that servers should not: the peer for testing clients
//! and the library itself. Serves standard streams.

// A path, because the tests compile the same files.
#[path = "all.rs"]
mod all;

use mcp::server::ConnectionOptions;
use mcp::transport::stdio;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let stdio = stdio::take()?;
    stdio::serve(&all::server(), stdio, ConnectionOptions::default()).await?;
    Ok(())
}

//! A server that does everything this library can, and much that servers should not: the peer that clients and the
//! library's own tests are tried on. Serves standard streams.

// Named, so that what it consists of stands beside it: the tests compile it from there too.
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

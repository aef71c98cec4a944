//! A server that does everything this library can, and much that servers should not: the peer that clients and the
//! library's own tests are tried on. Serves standard streams.

mod tools;

use std::sync::Arc;

use mcp::server::{ConnectionOptions, Server, ServerInfo};
use mcp::tool::Registry;
use mcp::transport::stdio;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let stdio = stdio::take()?;
    let server = Server::new(ServerInfo::new("everything", "1.0.0"), Arc::new(Registry::new(tools::all())));
    stdio::serve(&server, stdio, ConnectionOptions::default()).await?;
    Ok(())
}

//! The server for the official conformance suite, on the library's public API alone. `cargo xtask conformance` starts
//! it. `conformance [ADDRESS [--as-needed]]` prints its address on standard error. All its answers are streams, unless
//! `--as-needed` is given.

mod content;
mod made;
mod prompts;
mod questions;
mod resources;
mod streams;
mod tasks;

use std::sync::Arc;

use mcp::server::{Server, ServerInfo};
use mcp::tool::Registry;
use mcp::transport::http::{self, HttpOptions};

fn server() -> Server {
    let prompts = prompts::all();
    let registry = Arc::new(Registry::default());
    let lists = [content::tools(), questions::tools(), streams::tools(), tasks::tools()];
    for tool in lists.into_iter().flatten().chain(streams::changing(&registry, &prompts)) {
        registry.add(tool).expect("what the suite calls is declared as it must be");
    }
    let info = ServerInfo::new("conformance", env!("CARGO_PKG_VERSION"));
    Server::new(info, registry).resources(resources::all()).prompts(prompts).jobs()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let always_stream = !std::env::args().any(|arg| arg == "--as-needed");
    let options = HttpOptions { always_stream, ..HttpOptions::default() };
    // The program that started this one reads the port from here.
    #[allow(clippy::print_stderr)]
    {
        eprintln!("http://{}{}", listener.local_addr()?, options.path);
    }
    http::serve(listener, server(), options, std::future::pending()).await
}

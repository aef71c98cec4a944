//! A server on HTTP and WebSocket, of the same tools as the example `everything`. `http [ADDRESS [TOKEN]]`; it says on
//! standard error where it listens.

#[path = "everything/all.rs"]
mod all;

use mcp::transport::http::{self, HttpOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let mut options = HttpOptions { sse: true, websocket: true, ..HttpOptions::default() };
    if let Some(token) = arguments.next() {
        options = options.bearer(&token);
    }
    let end = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    // The program that started this one reads the port from here.
    #[allow(clippy::print_stderr)]
    {
        eprintln!("http://{}{}", listener.local_addr()?, options.path);
    }
    http::serve(listener, all::server(), options, end).await
}

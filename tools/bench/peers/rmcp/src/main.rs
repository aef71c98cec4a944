//! The echo server on the official Rust SDK, written in the SDK's recommended style: on its non-blocking pipes, or with
//! `--http` on a port that it prints. Serves both eras.

use axum::serve::ListenerExt;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::tower::StreamableHttpService;
use rmcp::{ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};

/// The value to echo.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Args {
    /// The text.
    text: String,
}

#[derive(Clone)]
struct Echo;

#[tool_router]
impl Echo {
    #[tool(description = "Gives back what it is given.")]
    async fn echo(&self, Parameters(args): Parameters<Args>) -> String {
        args.text
    }
}

#[tool_handler]
impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().any(|arg| arg == "--http") {
        let service = StreamableHttpService::new(|| Ok(Echo), LocalSessionManager::default().into(), Default::default());
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("{}", listener.local_addr()?.port());
        // Without `nodelay`, every answer waits 40 ms for the client's delayed acknowledgement.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?;
        return Ok(());
    }
    Echo.serve(rmcp::transport::stdio_pipes()).await?.waiting().await?;
    Ok(())
}

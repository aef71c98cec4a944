//! The smallest whole server: one tool, on standard streams. Try it with
//! `echo '{"jsonrpc":"2.0","method":"tools/list","id":1}' | cargo run -p mcp --example echo`.

use mcp::server::{Server, ServerInfo};
use mcp::tool::{Effect, tool_fn};

/// Gives back what it is given.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// What to give back.
    text: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let echo = tool_fn("echo", Effect::READ, |_, args: Args| async move { Ok(args.text) });
    let server = Server::with_tools(ServerInfo::new("echo", "1.0.0"), [echo]);
    mcp::transport::stdio::run(&server).await?;
    Ok(())
}

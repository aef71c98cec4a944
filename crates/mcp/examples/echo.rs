//! The smallest whole server: one tool, on standard streams. Try it with
//! `echo '{"jsonrpc":"2.0","method":"tools/list","id":1}' | cargo run -p mcp --example echo`.

use std::sync::Arc;

use mcp::server::{ConnectionOptions, Server, ServerInfo};
use mcp::tool::{Context, Effect, Registry, Tool, ToolError, tool};
use mcp::transport::stdio;

/// Gives back what it is given.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// What to give back.
    text: String,
}

struct Echo;

impl Tool for Echo {
    const NAME: &'static str = "echo";
    const EFFECT: Effect = Effect::READ;
    const STRUCTURED: bool = false;
    type Args = Args;
    type Output = String;

    async fn call(&self, _: Context, args: Args) -> Result<String, ToolError> {
        Ok(args.text)
    }

    fn text(output: &String) -> String {
        output.clone()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let stdio = stdio::take()?;
    let server = Server::new(ServerInfo::new("echo", "1.0.0"), Arc::new(Registry::new([tool(Echo)])));
    stdio::serve(&server, stdio, ConnectionOptions::default()).await?;
    Ok(())
}

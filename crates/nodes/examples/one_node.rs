//! A complete server of one typed LLM function, on standard streams. Try it with
//! `echo '{"jsonrpc":"2.0","method":"tools/list","id":1}' | cargo run -p nodes --example one_node`. Calls need a model server;
//! its URL is the argument.

use std::sync::Arc;

use mcp::server::{Server, ServerInfo};
use nodes::Models;
use nodes::typed_node::{Node, node_tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rates how easy a text is to read.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Text {
    /// The text.
    text: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Rating {
    reason: String,
    #[schemars(range(min = 1, max = 5))]
    score: u8,
}

struct Rate;

impl Node for Rate {
    const NAME: &'static str = "rate";
    const TEMPLATE: &'static str =
        "How easy is this text to read? Say why, and rate it from 1 to 5.\n{{ text | data }}";
    type Input = Text;
    type Output = Rating;
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:8080/v1".to_owned());
    let models = Models::at(&url, "model").map_err(std::io::Error::other)?;
    let server = Server::with_tools(ServerInfo::new("one-node", "1.0.0"), [node_tool::<Rate>(Arc::new(models))]);
    mcp::transport::stdio::run(&server).await.map(drop)
}

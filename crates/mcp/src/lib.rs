//! An asynchronous MCP (Model Context Protocol) server library: every protocol revision from 2024-11-05 to 2026-07-28
//! on every connection, answers and notifications at any time and from anywhere.
//!
//! ```
//! use mcp::server::{ConnectionOptions, Server, ServerInfo};
//! use mcp::tool::{Effect, tool_fn};
//! use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
//!
//! /// Gives back what it is given.
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Args {
//!     /// What to give back.
//!     text: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let echo = tool_fn("echo", Effect::READ, |_, args: Args| async move { Ok(args.text) });
//! let server = Server::with_tools(ServerInfo::new("echo", "1.0.0"), [echo]);
//! // On standard streams: `mcp::transport::stdio::run(&server).await?`.
//! let (client, _) = mcp::transport::memory::connect(&server, ConnectionOptions::default());
//! let mut client = BufReader::new(client);
//! let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}"#;
//! client.write_all(format!("{call}\n").as_bytes()).await?;
//! let mut answer = String::new();
//! client.read_line(&mut answer).await?;
//! assert_eq!(answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! - Only protocol messages reach a protocol's stdout ([`transport::stdio`]), every tool result is valid MCP content,
//!   and a server lives until its input ends, whatever arrives. [`server::odd_input`] is the table of inputs and
//!   answers; every row is a test.
//! - A call may be answered at any time from any thread ([`tool::Context::answer_later`]) and may notify for as long as
//!   the connection lives ([`tool::Context::notify`]). No sender blocks, and output that a slow peer leaves unread is
//!   bounded ([`server::Limits`]).
//! - A call may ask the person in the middle ([`tool::Context::ask`]) and continues where it asked, in the way that the
//!   client's revision has for questions. A call that outlasts its client continues as a job
//!   ([`server::Server::jobs`]).
//! - A panic is an error of one call. A client that floods, stalls or vanishes does not slow the others down.
//! - The last progress of a call and its answer never arrive in one read.
//!
//! # Where to start
//!
//! Each layer is a module: [`wire`] (framing and JSON-RPC, no I/O; the whole library with the feature `wire` alone),
//! `era` (the protocol's revisions), [`server`] (the life of a connection), [`tool`] (for the author of a tool),
//! [`resource`] and [`prompt`] (the other things that a client may ask for), [`transport`] (the streams that reach a
//! server). The example `echo` is a whole server; `everything` shows each thing that a call may do.

#![warn(missing_docs)]

#[cfg(feature = "server")]
mod catalog;
#[cfg(feature = "server")]
mod content;
#[cfg(feature = "server")]
mod era;
#[cfg(feature = "server")]
pub mod prompt;
#[cfg(feature = "server")]
pub mod resource;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
mod server_info;
#[cfg(feature = "server")]
pub mod tool;
#[cfg(feature = "server")]
pub mod transport;
pub mod wire;

#[cfg(feature = "server")]
pub use era::{Era, ResultForm};

/// Compiles the code of the guide and of the reference.
#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../../../docs/guide/mcp-library.md")]
#[doc = include_str!("../../../docs/reference/mcp-library.md")]
mod guide {}

#[cfg(all(test, feature = "server"))]
mod tests {
    const GUIDE: &str = include_str!("../../../docs/guide/mcp-library.md");
    const ECHO: &str = include_str!("../examples/echo.rs");

    #[test]
    fn the_server_in_twenty_lines_is_the_example_and_has_no_more() {
        let (_, rest) = GUIDE.split_once("```rust,no_run\n").expect("a piece of code");
        let (shown, _) = rest.split_once("```").expect("its end");
        let shown: Vec<&str> = shown.lines().collect();
        let program = ECHO.lines().skip_while(|line| line.starts_with("//!") || line.is_empty());
        assert_eq!(shown, program.collect::<Vec<_>>());
        assert!(shown.len() <= 20, "{} lines", shown.len());
    }

    #[test]
    fn the_guide_has_the_dependencies_of_its_first_program_and_says_linux() {
        let (_, rest) = GUIDE.split_once("```toml\n[dependencies]\n").expect("the dependencies");
        let (listed, _) = rest.split_once("```").expect("their end");
        let names: Vec<&str> = listed.lines().filter_map(|line| line.split_once(" =")).map(|(name, _)| name).collect();
        assert_eq!(names, ["mcp", "schemars", "serde", "tokio"]);
        // Every crate that the program names is among them, with the version that the library is built with.
        let used = ECHO.match_indices("::").filter_map(|(at, _)| {
            let before = &ECHO[..at];
            let begin = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
            Some(&before[begin..]).filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        });
        for name in used.filter(|name| !matches!(*name, "std" | "tool" | "server" | "stdio" | "transport" | "io")) {
            assert!(names.contains(&name), "{name}");
        }
        let workspace = include_str!("../../../Cargo.toml");
        for line in listed.lines().filter(|line| !line.starts_with("mcp")) {
            let (name, wanted) = line.split_once(" = ").expect("a dependency");
            let declared = workspace.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            let version = |text: &str| text.split('"').nth(1).map(str::to_owned);
            assert_eq!(declared.and_then(version), version(wanted), "{name}");
        }
        assert!(GUIDE.contains("runs on Linux"));
    }
}

// The tests compile the examples' tools too, which name the library as its users do.
#[cfg(all(test, feature = "server"))]
extern crate self as mcp;

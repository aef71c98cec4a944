//! An asynchronous MCP (Model Context Protocol) server library: every protocol revision from 2024-11-05 to 2026-07-28,
//! answers and notifications at any time and from anywhere.
//!
//! The layers, each its own module: [`wire`] (framing and JSON-RPC, no I/O), `era` (the protocol's revisions),
//! [`server`] (a connection's life), [`tool`] (what a tool is, for the person who writes one), [`transport`] (the
//! streams a server is reached by).

#[cfg(feature = "server")]
mod era;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod tool;
#[cfg(feature = "server")]
pub mod transport;
pub mod wire;

#[cfg(feature = "server")]
pub use era::Era;

// The examples' tools are compiled into the tests too, and name the library as everybody does.
#[cfg(all(test, feature = "server"))]
extern crate self as mcp;

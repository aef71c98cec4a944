//! An asynchronous MCP (Model Context Protocol) server library: every protocol revision from 2024-11-05 to 2026-07-28,
//! answers and notifications at any time and from anywhere.
//!
//! The layers, each its own module: [`wire`] (framing and JSON-RPC, no I/O) and [`tool`] (what a tool is, for the
//! person who writes one).

#[cfg(feature = "server")]
pub mod tool;
pub mod wire;

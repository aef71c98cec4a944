//! Typed functions whose body is a prompt in a file. hob always validates input and output itself.
//!
//! - [`mod@file`]: parses a node file to a checked [`Node`], and reports every error with its line.
//! - [`schema`]: validates values against JSON Schema, converts schemas for servers and answers back, and lists which keywords
//!   decoders enforce.
//! - [`outcome`]: the outcome of a request to a model.
//! - [`mod@run`]: a call with its requests, retries and cost.
//! - [`provider`]: the models, the codec of their API, and the only HTTP client.
//! - [`cassette`]: recorded answers; [`cache`]: cached values; [`usage`]: the cost of all calls.
//! - [`delegate`]: calls that the caller answers if there is no model.
//! - [`engine`]: the offline engine, a real model server for tests.
//! - [`folder`]: the node files of a worktree; [`registry`]: watches them.
//! - [`suite`]: the tests of node files.
//! - [`tools`]: the MCP tools, one file each.
//! - [`typed_node`]: nodes with Rust types.

mod address;
pub mod cache;
pub mod cassette;
pub mod delegate;
pub mod engine;
pub mod file;
pub mod folder;
mod journal;
pub mod outcome;
pub mod provider;
pub mod registry;
pub mod run;
pub mod schema;
mod settings;
pub mod suite;
pub mod tools;
pub mod typed_node;
pub mod usage;

pub use delegate::Delegation;
pub use file::{Node, Problem};
pub use journal::Record;
pub use provider::{Models, TokenProgress};
pub use run::{RunContext, run, run_with};
pub use settings::{ModelSettings, NodesSettings, Price};

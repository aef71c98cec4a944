//! Typed functions whose body is a prompt, from files: input and output are checked, always and here.
//!
//! - [`mod@file`]: a node file → a checked [`Node`], every error with its line.
//! - [`schema`]: values against JSON Schema; a schema as a server takes it, the answer as the schema means it, and what
//!   decoders make of each keyword.
//! - [`outcome`]: how an attempt at a model ended.
//! - [`mod@run`]: a call: what is asked, what follows a failure, and what it has cost.
//! - [`provider`]: the models, the codec of their API, and the one HTTP client.
//! - [`cassette`]: recorded answers; [`cache`]: values that a node gave before; [`usage`]: what all of it has cost.
//! - [`delegate`]: a call that its caller answers, where there is no model.
//! - [`engine`]: the offline engine, a real model server for tests.
//! - [`folder`]: the node files of a worktree; [`registry`]: the same while they change.
//! - [`suite`]: the tests of node files.
//! - [`tools`]: what agents call, one file each.
//! - [`typed`]: nodes whose types are Rust's.

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
pub mod typed;
pub mod usage;

pub use delegate::Delegation;
pub use file::{Node, Problem};
pub use journal::Record;
pub use provider::{Heard, Models};
pub use run::{Means, run, run_with};
pub use settings::{ModelSettings, NodesSettings, Price};

//! Typed functions whose body is a prompt, from files: input and output are checked, always and here.
//!
//! - [`file`]: a node file → a checked [`Node`], every error with its line.
//! - [`schema`]: values against JSON Schema.
//! - [`outcome`]: how an attempt at a model ended.
//! - [`run`]: a call: what is asked, what follows a failure, and what it has cost.
//! - [`provider`]: the models, the codec of their API, and the one HTTP client.
//! - [`folder`]: the node files of a worktree.
//! - [`tools`]: what agents call, one file each.

mod address;
pub mod file;
pub mod folder;
pub mod outcome;
pub mod provider;
pub mod run;
pub mod schema;
mod settings;
pub mod tools;

pub use file::{Node, Problem};
pub use provider::Models;
pub use run::run;
pub use settings::{ModelSettings, NodesSettings};

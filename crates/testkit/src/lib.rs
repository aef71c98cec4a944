//! Shared fixtures of the end-to-end tests: a temporary project with the real binary, an MCP client, and a search for
//! processes by their environment. It also has an Erlang VM, a GitHub server for the real `gh`, executable Markdown
//! transcripts and guides, a scripted model for real coding agents, and a model server for nodes.
//!
//! Start with [`TestProject`]. Every wait is for a value and has the same timeout ([`patience()`]), which only stops
//! tests that would otherwise hang.

mod caller;
pub mod github;
pub mod guide;
pub mod model_server;
pub mod otp;
mod patience;
mod peer;
mod postgres;
mod processes;
mod project;
mod random;
mod screen;
pub mod scripted_model;
#[cfg(feature = "tokens")]
pub mod tokens;
pub mod transcript;

pub use caller::caller;
pub use patience::{patience, until};
pub use peer::{Answer, McpPeer};
pub use postgres::Postgres;
pub use processes::{Process, is_alive, kill_hard, with_environment};
pub use project::{Ran, TestProject, has_program, has_version, python_packages};
pub use random::Random;
pub use screen::Screen;

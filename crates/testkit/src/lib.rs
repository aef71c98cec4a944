//! What the end-to-end tests share: a project of their own with the real binary, a peer that speaks MCP to it,
//! processes found by what they carry in their environment, an Erlang VM to load modules into, Markdown transcripts
//! that are run, and a scripted model for real coding agents.
//!
//! Start with [`TestProject`]. Everything waits on values, with one timeout ([`patience`]) that is only there to end
//! a test that would otherwise hang.

mod caller;
pub mod otp;
mod patience;
mod peer;
mod postgres;
mod processes;
mod project;
mod random;
pub mod scripted_model;
pub mod transcript;

pub use caller::caller;
pub use patience::{patience, until};
pub use peer::{Answer, McpPeer};
pub use postgres::Postgres;
pub use processes::{Process, is_alive, kill_hard, with_environment};
pub use project::{Ran, TestProject, has_program, has_version};
pub use random::Random;

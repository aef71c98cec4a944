//! Live REPL sessions for agents, and their tools: evaluate, wait, read, interrupt.
//!
//! Start with `tools/eval.rs`, the entry point. `sessions` holds all sessions of a project; `session` is one of them,
//! whose `actor` owns the running REPL. [`adapter`] holds the code that differs between languages, [`profile`] the
//! data; [`result`] and [`load`] are the results of evaluating and loading.

pub mod adapter;
mod archive;
pub mod check;
pub mod control;
pub mod dashboard;
mod default_session;
mod error;
mod ghc_mcp;
pub mod journal;
mod lenient;
pub mod load;
mod not_started;
mod numbers;
mod pictures;
pub mod profile;
pub mod query;
mod resolve;
mod resources;
pub mod result;
mod running_evaluation;
pub mod sandboxed;
pub mod session;
mod sessions;
pub mod settings;
pub mod status;
pub mod text;
mod tools;

pub use error::ReplError;
pub use ghc_mcp::ghc_mcp_tools;
pub use resources::serve_resources;
pub use sessions::{
    DEFAULT_SESSION, Journal, Repl, ReplOptions, Replayed, SessionOutput, StartRequest, StartedSession,
};
pub use settings::ReplSettings;
pub use tools::tools;

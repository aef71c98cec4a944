//! The daemon, one process per project: it holds the parts, serves them to every connection, and stops when unused.
//!
//! Start with [`serve`]: `lifecycle.rs` starts and stops a daemon, whose state is in `daemon.rs`; `listener.rs` admits
//! connections; `parts/` holds the served parts, `toolsets/` their choice, and `servers/` serves them. [`standalone()`] serves one agent on stdio without a daemon.

mod clients;
mod collect;
mod compat;
mod connections;
mod control;
mod daemon;
mod declarations;
mod detach;
mod health;
mod http;
mod journal;
mod lifecycle;
mod listener;
mod log;
mod notify;

mod dashboard;
pub mod parts;
mod secrets;
mod servers;
mod standalone_server;
mod status;
mod tool_summary;
mod toolsets;
mod trim_memory;

pub use declarations::{declared, enabled, faults, tool_names};
pub use http::HttpError;
pub use lifecycle::{Options, ServeError, serve};
pub use parts::{health, missing_variables, sections};
pub use process::{capture, guardian};
pub use secrets::{SecretError, http_token};
pub use standalone_server::{StandaloneError, standalone};
pub use status::Status;
pub use toolsets::ChoiceError;

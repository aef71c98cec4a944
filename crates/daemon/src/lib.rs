//! One process per project: it holds the parts, serves them to every connection, and knows when to end.
//!
//! Start with [`serve`]: [`lifecycle`](self) says how a daemon begins and ends, `listener.rs` how a connection is
//! let in, `parts/` what there is to serve. [`standalone`] serves one agent on stdio without a daemon.

mod connections;
mod control;
mod detach;
mod http;
mod journal;
mod lifecycle;
mod listener;
mod log;
mod offer;
pub mod parts;
mod secrets;
mod standalone;
mod status;
mod trim_memory;

pub use lifecycle::{Options, ServeError, serve};
pub use parts::{ChoiceError, declared, enabled, faults, health, sections};
pub use process::guardian;
pub use secrets::{SecretError, http_token};
pub use standalone::{StandaloneError, standalone};
pub use status::Status;

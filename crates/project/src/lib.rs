//! Where things are and who may: the project root, its paths, the lock, the socket, the first line of a connection,
//! `hob.toml` and trust, and the records of the journal.
//!
//! Plain blocking code without an async runtime: the front-end, the daemon and the command line all build on it.
//! It starts no process and speaks no MCP. Start with [`Project::find`]; then [`hello`] for what two programs of
//! hob say to each other first, and [`Config::load`] for what is configured.

mod caller;
pub mod config;
mod cure;
mod duration;
mod environment;
mod git;
pub mod hello;
pub mod journal;
pub mod leftovers;
mod lock;
mod mail;
mod origin;
mod owner;
mod paths;
pub mod private;
mod root;
mod runtime;
pub mod socket;
pub mod trust;
mod user;

pub use caller::{Caller, Known};
pub use config::{Config, ConfigError, Limits};
pub use environment::{Environment, allowed};
pub use hello::{Hello, HelloAck, Readiness, Role};
pub use lock::{Lock, LockError};
pub use paths::{PathError, Project};
pub use root::{FindError, FoundBy};
pub use runtime::temporary;
pub use trust::Trust;
pub use user::UserConfig;

/// The version of hob, for people. Compatibility is decided by [`hello::PROTOCOL`] alone.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

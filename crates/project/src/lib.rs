//! A project on this machine: its root, its paths, the lock, the socket, the first line of a connection, `hob.toml` and
//! trust, and the records of the journal.
//!
//! Plain blocking code without an async runtime: the front-end, the daemon and the command line all build on it. It
//! starts no process and does not use MCP. Start with [`Project::find`]; then [`hello`] for the handshake between two
//! programs of hob, and [`Config::load`] for the configuration.

pub mod ancestry;
mod caller;
pub mod checkout_dir;
mod code_trust;
pub mod config;
mod config_error;
pub mod daemon_environment;
pub mod dashboard;
pub mod draft;
mod environment;
mod git;
pub mod hello;
mod identity;
pub mod journal;
mod json_line;
mod lexical_path;
mod lock;
mod origin;
mod owner;
mod path_error;
mod paths;
pub mod private;
pub mod regular;
mod request;
mod results;
mod root;
mod root_note;
mod runtime_dir;
mod secrets_dir;
pub mod socket;
mod span;
pub mod stale_files;
mod state;
pub mod trust;
mod user_config;
pub mod visible;

pub use caller::{Caller, Identification};
pub use code_trust::CodeTrust;
pub use config::{Config, Limits};
pub use config_error::{ConfigError, expected_form};
pub use environment::{Environment, allowed};
pub use git::{GitPlaces, GitView, Purpose, exclusion, head_commit, is_tracked, main_worktree, misleading_link};
pub use hello::{Hello, HelloAck, Readiness, Repeat, RepeatRule, Role};
pub use json_line::json_line;
pub use lexical_path::normal;
pub use lock::{Lock, LockError, served_at, serves};
pub use owner::Foreign;
pub use path_error::PathError;
pub use paths::Project;
pub use results::Results;
pub use root::{FindError, FoundBy, candidate_roots, hash_of};
pub use runtime_dir::temporary;
pub use secrets_dir::SecretsDir;
pub use span::span;
pub use trust::Trust;
pub use user_config::UserConfig;
pub use visible::visible;

/// The version of hob, for people. Compatibility is decided by [`hello::PROTOCOL`] alone.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

//! Everything needed to start a session's process: what a profile resolves to.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::adapter::Adapter;

/// A command with what is known about the REPL it starts. Plain data, so that a restart can use it again.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The profile's name.
    pub profile: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The whole environment of the process.
    pub env: Vec<(String, String)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// How to talk to it.
    pub adapter: Arc<dyn Adapter>,
    /// How long it may take to its first prompt (a first `cabal repl` builds dependencies).
    pub start_timeout: Duration,
    /// What to tell somebody who has not got the program: how to install it.
    pub install_hint: String,
    /// Resident memory of all its processes, in bytes, above which it is killed.
    pub memory_limit: u64,
}

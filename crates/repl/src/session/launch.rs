//! Everything needed to start a session's process: what a profile resolves to.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::adapter::Adapter;

/// A command and what is known about the REPL it starts. Plain data, so that a restart can use it again.
#[derive(Debug, Clone)]
pub struct Launch {
    pub profile: String,
    pub command: Vec<String>,
    /// The complete environment of the process.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// How to talk to the REPL.
    pub adapter: Arc<dyn Adapter>,
    /// How long the first prompt may take (a first `cabal repl` builds dependencies).
    pub start_timeout: Duration,
    /// How to install the program, for users that do not have it.
    pub install_hint: String,
    /// Resident memory of all its processes, in bytes, above which the session is killed.
    pub memory_limit: u64,
    /// What messages call the program: the caller's own command, or the profile's title.
    pub called: String,
    /// Why this profile was chosen where no file spoke for it, as a clause.
    pub fallback: Option<String>,
    /// What else was decided about it, each a sentence.
    pub notes: Vec<String>,
}

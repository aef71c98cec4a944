//! The data needed to start a session's process: a resolved profile.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::adapter::Adapter;
use crate::sandboxed::SandboxMode;

/// A command and the data about its REPL. A restart reuses it.
#[derive(Debug, Clone)]
pub struct Launch {
    pub profile: String,
    pub command: Vec<String>,
    /// The complete environment of the process.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// The adapter for the REPL.
    pub adapter: Arc<dyn Adapter>,
    /// The time limit for the first prompt (a first `cabal repl` builds dependencies).
    pub start_timeout: Duration,
    /// Installation instructions for the program.
    pub install_hint: String,
    /// Resident memory of all its processes, in bytes, above which the session is killed.
    pub memory_limit: u64,
    /// The sandbox, if there is one.
    pub sandbox: Option<SandboxMode>,
    /// The program's name in messages: the caller's own command, or the profile's title.
    pub called: String,
    /// The reason for this profile if no file decided, as a clause.
    pub fallback: Option<String>,
    /// Further notes, each a sentence.
    pub notes: Vec<String>,
}

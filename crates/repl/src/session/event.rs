//! What a session reports while it lives: events for subscribers, snapshots ([`SessionInfo`]) for callers.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::result::{Completion, Status};

/// One of the two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// Returns the same stream for the output log.
    pub(crate) fn logged(self) -> process::output::Stream {
        match self {
            Stream::Stdout => process::output::Stream::Stdout,
            Stream::Stderr => process::output::Stream::Stderr,
        }
    }
}

/// What happens in a session, for subscribers (`Handle::events`). A slow subscriber misses events, but never delays
/// them.
#[derive(Debug, Clone)]
pub enum SessionEvent {
    /// The REPL is ready for its first evaluation.
    Started,
    /// An evaluation was handed to the REPL.
    EvalStarted { eval: u64, code: String },
    /// Output as it arrives, without markers, in pieces of any length.
    Output {
        /// The evaluation that the output belongs to, if any.
        eval: Option<u64>,
        stream: Stream,
        /// The text; invalid UTF-8 is replaced.
        text: String,
    },
    /// An evaluation ended.
    EvalFinished {
        eval: u64,
        status: Status,
        duration: Duration,
        /// The prompt a person would see now, such as `ghci> `.
        prompt: String,
    },
    /// The process has ended.
    Ended {
        /// `exited`, `crashed` or `killed`.
        status: Status,
        /// The reason, as one sentence.
        reason: String,
    },
}

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// The process runs, its first prompt has not come yet.
    Starting,
    /// It waits for code.
    Idle,
    /// It evaluates.
    Running,
    /// It evaluates, and the program waits for its standard input.
    WaitingForInput,
    /// An interrupt is being carried out.
    Interrupting,
    /// It does not react to interrupts; only `repl_restart` helps.
    Uninterruptible,
    /// The process exited by itself.
    Exited,
    /// The process died of a signal of its own making.
    Crashed,
    /// The process was ended because somebody asked for it, or because it was idle for too long.
    Stopped,
    /// The process was ended from outside.
    Killed,
}

impl SessionState {
    /// Returns the name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            SessionState::Starting => "starting",
            SessionState::Idle => "idle",
            SessionState::Running => "running",
            SessionState::WaitingForInput => "waiting for input",
            SessionState::Interrupting => "interrupting",
            SessionState::Uninterruptible => "uninterruptible",
            SessionState::Exited => "exited",
            SessionState::Crashed => "crashed",
            SessionState::Stopped => "stopped",
            SessionState::Killed => "killed",
        }
    }

    /// Returns true if the process still exists.
    pub fn is_alive(self) -> bool {
        use SessionState::*;
        !matches!(self, Exited | Crashed | Stopped | Killed)
    }
}

/// A snapshot of a session.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    pub name: String,
    /// The worktree it belongs to.
    pub worktree: PathBuf,
    /// Who started it.
    pub owner: String,
    /// The profile's name.
    pub profile: String,
    /// How it stands.
    pub state: SessionState,
    /// For a dead session, how it ended, as a sentence.
    pub reason: Option<String>,
    /// The language's version, once known.
    pub version: Option<String>,
    /// True if its first prompt ever came. Of a dead session: whether it ever started.
    pub prompted: bool,
    /// What the REPL printed before its first prompt.
    pub banner: String,
    /// How sure the ends of evaluations are.
    pub completion: Completion,
    /// The process that was started.
    pub pid: Option<u32>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// The command that was started.
    pub command: Vec<String>,
    /// Resident memory of its processes, in bytes, as last measured.
    pub memory: Option<u64>,
    /// How long it has been up (or was).
    pub uptime: Duration,
    /// How long nothing has been evaluated.
    pub idle: Duration,
    /// When it was started, when it was used last, and when it ended: what the durations are counted from.
    pub(super) times: Times,
    /// When that ends it, counted like `idle`; never without.
    pub idle_limit: Option<Duration>,
    /// The evaluation that runs.
    pub current: Option<u64>,
    /// The first line of its code.
    pub code: String,
    /// How long it has run.
    pub running: Duration,
    /// True if a call waits for something in the session.
    pub waited_for: bool,
    /// How long nobody has used the session: no call that is under way, and no connection that made one.
    pub away: Option<Duration>,
    /// Why this profile was chosen where no file spoke for it, as a clause.
    pub fallback: Option<String>,
    /// What else was decided about its start, each a sentence.
    pub start_notes: Vec<String>,
    /// What messages call the program.
    pub called: String,
    /// How many wait.
    pub queue_depth: usize,
    /// How many evaluations have ended.
    pub evals: u64,
    /// The end of the output log.
    pub cursor: u64,
    /// The prompt a person would see now.
    pub prompt: String,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) started: Instant,
    pub(super) used: Instant,
    /// When the evaluation that runs began.
    pub(super) eval: Option<Instant>,
    pub(super) ended: Option<Instant>,
}

impl SessionInfo {
    /// With the durations as they are now.
    pub(super) fn at(mut self, now: Instant) -> SessionInfo {
        let now = self.times.ended.unwrap_or(now);
        self.uptime = now - self.times.started;
        self.running = self.times.eval.map(|began| now.saturating_duration_since(began)).unwrap_or_default();
        self.idle =
            if self.current.is_some() { Duration::ZERO } else { now.saturating_duration_since(self.times.used) };
        self
    }
}

//! A session's reports: events for subscribers, snapshots ([`SessionInfo`]) for callers.

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

/// An event in a session, for subscribers (`Handle::events`). A slow subscriber misses events, but never delays them.
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
    /// The process has exited.
    Ended {
        /// `exited`, `crashed` or `killed`.
        status: Status,
        /// The reason, as one sentence.
        reason: String,
    },
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// The process is running, but its first prompt has not come yet.
    Starting,
    /// It waits for code.
    Idle,
    /// It is evaluating.
    Running,
    /// It is evaluating, and the program waits for standard input.
    WaitingForInput,
    /// An interrupt is in progress.
    Interrupting,
    /// It does not react to interrupts; only `repl_restart` helps.
    Uninterruptible,
    /// The process exited.
    Exited,
    /// The process died of a signal that it caused itself.
    Crashed,
    /// The process was ended on request, or because it was idle for too long.
    Stopped,
    /// The process was killed from outside.
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
    /// The caller that started it.
    pub owner: String,
    /// The profile's name.
    pub profile: String,
    /// Its state.
    pub state: SessionState,
    /// The reason of its end, as a sentence.
    pub reason: Option<String>,
    /// The language's version, once known.
    pub version: Option<String>,
    /// True if its first prompt ever came, which means for an ended session that it started.
    pub prompted: bool,
    /// Output before the first prompt.
    pub banner: String,
    /// The reliability with which the ends of evaluations are detected.
    pub completion: Completion,
    /// The process that was started.
    pub pid: Option<u32>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// The command that was started.
    pub command: Vec<String>,
    /// Resident memory of its processes, in bytes, as last measured.
    pub memory: Option<u64>,
    /// Its uptime, or the uptime that it had.
    pub uptime: Duration,
    /// The time since the last evaluation.
    pub idle: Duration,
    /// The times of its start, last use and end, from which the durations are computed.
    pub(super) times: Times,
    /// The idle time after which the session is ended, counted like `idle`; `None` for no limit.
    pub idle_limit: Option<Duration>,
    /// The running evaluation.
    pub current: Option<u64>,
    /// The first line of its code.
    pub code: String,
    /// Its run time so far.
    pub running: Duration,
    /// True if a call waits for something in the session.
    pub waited_for: bool,
    /// The time since the session was last used by a pending call or an open connection that made one.
    pub away: Option<Duration>,
    /// The reason for this profile if no file decided, as a clause.
    pub fallback: Option<String>,
    /// Further notes on its start, each a sentence.
    pub start_notes: Vec<String>,
    /// The program's name in messages.
    pub called: String,
    /// The number of queued evaluations.
    pub queue_depth: usize,
    /// The number of evaluations that have ended.
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
    /// The start of the running evaluation.
    pub(super) eval: Option<Instant>,
    pub(super) ended: Option<Instant>,
}

impl SessionInfo {
    /// Returns the start of the session.
    pub fn started(&self) -> Instant {
        self.times.started
    }

    /// Returns the start of the running evaluation.
    pub fn evaluating_since(&self) -> Option<Instant> {
        self.times.eval
    }

    /// Updates the durations to `now`.
    pub(super) fn at(mut self, now: Instant) -> SessionInfo {
        let now = self.times.ended.unwrap_or(now);
        self.uptime = now - self.times.started;
        self.running = self.times.eval.map(|began| now.saturating_duration_since(began)).unwrap_or_default();
        self.idle =
            if self.current.is_some() { Duration::ZERO } else { now.saturating_duration_since(self.times.used) };
        self
    }
}

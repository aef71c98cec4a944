//! The result of an evaluation, as agents see it: the promised shapes. The actor and the adapters fill them in;
//! [`crate::text`] has their short form.

use diagnostics::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an evaluation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It ended without an error that the REPL reported.
    Done,
    /// It ended, and the REPL reported an error.
    Error,
    /// The session is still starting; the evaluation runs after that.
    Starting,
    /// It waits for the evaluations before it.
    Queued,
    /// It runs.
    Running,
    /// It runs, and the program waits for its standard input.
    WaitingForInput,
    /// It was interrupted.
    Interrupted,
    /// The REPL exited by itself meanwhile.
    Exited,
    /// The REPL died of a signal of its own making.
    Crashed,
    /// The REPL was ended from outside: by us (a limit, a stop, a restart) or by somebody's KILL or TERM.
    Killed,
}

impl Status {
    /// Returns true if nothing more will happen to the evaluation.
    pub fn is_final(self) -> bool {
        use Status::*;
        matches!(self, Done | Error | Interrupted | Exited | Crashed | Killed)
    }

    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Status::Done => "done",
            Status::Error => "error",
            Status::Starting => "starting",
            Status::Queued => "queued",
            Status::Running => "running",
            Status::WaitingForInput => "waiting_for_input",
            Status::Interrupted => "interrupted",
            Status::Exited => "exited",
            Status::Crashed => "crashed",
            Status::Killed => "killed",
        }
    }
}

/// How sure the end of an evaluation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The language itself reports the end on both streams, with a number.
    Exact,
    /// A secret marker printed after the evaluation.
    Marker,
    /// A prompt pattern and a pause.
    Heuristic,
}

/// Everything known about one evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvalResult {
    /// The session it belongs to.
    pub session: String,
    /// Its number, for `repl_wait` and `repl_read`.
    pub eval: u64,
    /// How it stands.
    pub status: Status,
    /// How sure its end is.
    pub completion: Completion,
    /// What it wrote to standard output; cut in the middle if long.
    pub stdout: String,
    /// What it wrote to standard error; cut in the middle if long.
    pub stderr: String,
    /// The value, where the language reports it apart from the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The value's type, where the language reports it.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Errors and warnings of the compiler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// The exception that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// How long it has run, in milliseconds.
    pub duration_ms: f64,
    /// Processor time the session's processes used meanwhile, in milliseconds, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Present when not all output is shown here; `repl_read` has the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
    /// Bytes of its output that earlier answers gave this caller while it ran, and that are not here again; `repl_read` has
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_before: Option<u64>,
    /// Where the session's output log stands; `repl_read` with this cursor gives what comes after.
    pub cursor: u64,
    /// What arrived between the end of the evaluation before this one and its own start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// How many evaluations wait behind this one.
    pub queue_depth: usize,
    /// The first line of its code, until it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What it waits behind, while it is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Behind>,
    /// The session that it waits for, while that is starting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting: Option<Starting>,
    /// True if interrupts do not end what runs in the session, so that only `repl_restart` helps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uninterruptible: bool,
    /// What else is worth knowing, each a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl EvalResult {
    /// Returns the evaluation before it that waits for its input, while it is queued.
    pub(crate) fn waits_behind_input(&self) -> Option<u64> {
        let behind = self.behind.as_ref().filter(|behind| behind.status == Status::WaitingForInput);
        behind.map(|behind| behind.eval)
    }
}

/// The evaluation that another one is queued behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Behind {
    /// Its number.
    pub eval: u64,
    /// The first line of its code.
    pub code: String,
    /// How it stands.
    pub status: Status,
    /// How long it has run, in milliseconds.
    pub duration_ms: f64,
    /// True if a call waits for it.
    pub waited_for: bool,
    /// How many are queued between the two.
    pub queued: usize,
}

/// A session that is starting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Starting {
    /// Its profile.
    pub profile: String,
    /// For how long, in milliseconds.
    pub duration_ms: f64,
    /// The last line that its program printed, if that takes long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub printed: String,
}

/// How much of each stream is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Truncated {
    /// Standard output.
    pub stdout: Shown,
    /// Standard error.
    pub stderr: Shown,
}

/// Counts of one stream of one evaluation, in bytes of the raw output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    /// Written by the program.
    pub total: u64,
    /// Shown in this answer.
    pub shown: u64,
    /// No longer readable anywhere, because the log's limit was reached.
    pub dropped: u64,
}

/// Output that belongs to no evaluation: background threads, child processes that outlived theirs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Between {
    /// On standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// On standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

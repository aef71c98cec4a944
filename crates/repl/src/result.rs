//! The result of an evaluation as agents receive it: the stable data types. The actor and the adapters fill them in;
//! [`crate::text`] has their short form.

use diagnostics::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The status of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It ended without an error reported by the REPL.
    Done,
    /// It ended, and the REPL reported an error.
    Error,
    /// The session is still starting; the evaluation runs after that.
    Starting,
    /// It waits for earlier evaluations.
    Queued,
    /// It is running.
    Running,
    /// It is running, and the program waits for standard input.
    WaitingForInput,
    /// It was interrupted.
    Interrupted,
    /// The REPL exited meanwhile.
    Exited,
    /// The REPL died of a signal that it caused itself.
    Crashed,
    /// The REPL was killed from outside: by hob (a limit, a stop, a restart) or by another process's KILL or TERM.
    Killed,
}

impl Status {
    /// Returns true if the status cannot change any more.
    pub fn is_final(self) -> bool {
        use Status::*;
        matches!(self, Done | Error | Interrupted | Exited | Crashed | Killed)
    }

    /// Returns the name in the protocol.
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

/// The reliability with which the end of an evaluation is detected.
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

/// The result of one evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvalResult {
    /// The session it belongs to.
    pub session: String,
    /// Its number, for `repl_wait` and `repl_read`.
    pub eval: u64,
    /// Its status.
    pub status: Status,
    /// The reliability of its end.
    pub completion: Completion,
    /// Its standard output; cut in the middle if long.
    pub stdout: String,
    /// Its standard error; cut in the middle if long.
    pub stderr: String,
    /// The value, if the language reports it separately from the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The value's type, if the language reports it.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Errors and warnings of the compiler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// The exception that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// Its run time so far, in milliseconds.
    pub duration_ms: f64,
    /// Processor time that the session's processes used meanwhile, in milliseconds, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Present if some output is omitted here; `repl_read` has the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
    /// Bytes of its output that earlier answers gave this caller while it ran and that are not repeated here;
    /// `repl_read` has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_before: Option<u64>,
    /// The current position in the session's output log; `repl_read` with this cursor returns later output.
    pub cursor: u64,
    /// Output between the end of the previous evaluation and the start of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// The number of evaluations queued behind this one.
    pub queue_depth: usize,
    /// The first line of its code, until it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The evaluation it is queued behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Behind>,
    /// The session it waits for, while that is starting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting: Option<Starting>,
    /// True if interrupts do not end the running code, so that only `repl_restart` helps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uninterruptible: bool,
    /// Further notes, each a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Files with the pictures that it drew, as PNG. They are kept as long as the session's output, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<String>,
}

impl EvalResult {
    /// Returns the earlier evaluation that waits for input, if this one is queued behind it.
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
    /// Its status.
    pub status: Status,
    /// Its run time so far, in milliseconds.
    pub duration_ms: f64,
    /// True if a call waits for it.
    pub waited_for: bool,
    /// The number of evaluations queued between the two.
    pub queued: usize,
}

/// A session that is starting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Starting {
    /// Its profile.
    pub profile: String,
    /// The time since its start, in milliseconds.
    pub duration_ms: f64,
    /// The last line that its program printed, if the start takes long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub printed: String,
}

/// The shown part of each stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Truncated {
    /// Standard output.
    pub stdout: ByteCounts,
    /// Standard error.
    pub stderr: ByteCounts,
}

/// Byte counts of one stream of one evaluation, in raw output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ByteCounts {
    /// Bytes written by the program.
    pub total: u64,
    /// Bytes shown in this answer.
    pub shown: u64,
    /// Bytes that are no longer readable because the log's limit was reached.
    pub dropped: u64,
}

/// Output that belongs to no evaluation: of background threads, or of child processes that outlived theirs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Between {
    /// On standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// On standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

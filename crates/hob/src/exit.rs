//! Exit codes and failures: the one table of codes, and errors with hints.

use std::fmt::Display;
use std::process::ExitCode;

use serde_json::Value;

/// The exit codes. `hob --help` prints this table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    /// Failure; the message states the reason and the fix.
    Failed = 1,
    /// Invalid command line.
    Usage = 2,
    /// The project's daemon could not be reached or started, or refused the connection.
    NoDaemon = 3,
    /// The tool returned an error.
    ToolError = 4,
    /// `hob doctor` found a problem.
    Unhealthy = 5,
    /// `hob wait`, `hob ask`: no message or answer before the timeout.
    NothingCame = 6,
    /// `hob ask`: the person said no, or declined to answer.
    SaidNo = 7,
    /// `hob ask`: no person can see the question.
    NobodyThere = 8,
    /// The evaluation ended with an error.
    EvalError = 9,
    /// The evaluation was interrupted.
    EvalInterrupted = 10,
    /// The evaluation is running, waiting for input, or queued.
    EvalRuns = 11,
    /// The session ended during the evaluation.
    EvalEnded = 12,
}

/// The table for `--help`.
pub(crate) const TABLE: &str = "Exit codes:
  0  success
  1  failure; the message states the reason and the fix
  2  invalid command line
  3  the project's daemon could not be reached or started, or refused
  4  the tool returned an error
  5  `hob doctor` found a problem
  6  `hob wait`, `hob ask`: no message or answer before the timeout
  7  `hob ask`: the person said no, or declined to answer
  8  `hob ask`: no person can see the question; this does not mean no

Evaluations (`hob eval`; `hob call` of repl_eval, repl_wait and repl_reload) also exit with:
  9  it failed with an error
 10  it was interrupted
 11  it is running, waiting for input, or queued
 12  the session ended during it: it quit, crashed or was killed";

impl Exit {
    /// Returns the exit code for an evaluation, from the structured result of its tool.
    pub(crate) fn of_evaluation(evaluation: &Value) -> Exit {
        match evaluation["status"].as_str().unwrap_or_default() {
            "error" => Exit::EvalError,
            "interrupted" => Exit::EvalInterrupted,
            "starting" | "queued" | "running" | "waiting_for_input" => Exit::EvalRuns,
            "exited" | "crashed" | "killed" => Exit::EvalEnded,
            _ => Exit::Done,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// A failed command: the reason, and hints. Rendered once, by `main`.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// The error message.
    pub(crate) message: String,
    /// The fixes, one sentence each.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// Creates a failure with the general exit code.
    pub(crate) fn new(message: impl Display) -> Failure {
        Failure { exit: Exit::Failed, message: message.to_string(), hints: Vec::new() }
    }

    /// Sets the exit code.
    pub(crate) fn exit(mut self, exit: Exit) -> Failure {
        self.exit = exit;
        self
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Display) -> Failure {
        self.hints.push(hint.to_string());
        self
    }
}

/// Converts a failed edit of a file.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        use std::io::{Error, ErrorKind};
        let failure = Failure::new(format_args!("{error:#}"));
        let cause = error.chain().find_map(|cause| cause.downcast_ref::<Error>());
        match cause.map(Error::kind) {
            Some(
                ErrorKind::PermissionDenied
                | ErrorKind::ReadOnlyFilesystem
                | ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded,
            ) => failure.hint("Check that the directory is yours and its disk is not full, then try again."),
            _ => failure,
        }
    }
}

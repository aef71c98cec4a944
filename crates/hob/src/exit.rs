//! How hob ends: the one table of exit codes, and failures with what to do about them.

use std::fmt::Display;
use std::process::ExitCode;

use serde_json::Value;

/// Every exit code there is. `hob --help` prints this table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It worked.
    Done = 0,
    /// It did not work; the message says why and what to do.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The project's daemon could not be reached or started, or refused the connection.
    NoDaemon = 3,
    /// The tool answered with an error.
    ToolError = 4,
    /// `hob doctor` found something that would break.
    Unhealthy = 5,
    /// `hob wait`, `hob ask`: no message or answer came in time.
    NothingCame = 6,
    /// `hob ask`: the person said no, or would not answer.
    SaidNo = 7,
    /// `hob ask`: nobody can see the question.
    NobodyThere = 8,
    /// An evaluation ended with an error.
    EvalError = 9,
    /// An evaluation was interrupted.
    EvalInterrupted = 10,
    /// An evaluation still runs, waits for its input, or has not begun.
    EvalRuns = 11,
    /// The session ended in an evaluation.
    EvalEnded = 12,
}

/// The table for `--help`.
pub(crate) const TABLE: &str = "\
Exit codes:
  0  it worked
  1  it did not work; the message says why and what to do
  2  the command line is wrong
  3  the project's daemon could not be reached or started, or refused
  4  the tool answered with an error
  5  `hob doctor` found something that would break
  6  `hob wait`, `hob ask`: no message or answer came in time
  7  `hob ask`: the person said no, or would not answer
  8  `hob ask`: nobody can see the question; that is not a no

How an evaluation stands (`hob eval`; `hob call` of repl_eval, repl_wait and repl_reload), beside 0 for its end:
  9  it ended with an error
 10  it was interrupted
 11  it still runs, waits for input, or has not begun
 12  the session ended in it: it quit, crashed or was killed";

impl Exit {
    /// How an evaluation stands, by the structured result of its tool.
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

/// Why a command failed, and what to do next. Rendered once, by `main`.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// What happened.
    pub(crate) message: String,
    /// What to do next, one sentence each.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// A failure with the general code.
    pub(crate) fn new(message: impl Display) -> Failure {
        Failure { exit: Exit::Failed, message: message.to_string(), hints: Vec::new() }
    }

    /// The same failure with another code.
    pub(crate) fn exit(mut self, exit: Exit) -> Failure {
        self.exit = exit;
        self
    }

    /// The same failure with one more hint.
    pub(crate) fn hint(mut self, hint: impl Display) -> Failure {
        self.hints.push(hint.to_string());
        self
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::new(format_args!("{error:#}"))
    }
}

//! Reasons why a call does not reach a session, with hints for the tools.

use std::path::{Path, PathBuf};

use mcp::tool::ToolError;
use process::SpawnError;

use crate::not_started::{hints, message, not_started};
use crate::profile::ProfileError;
use crate::session::{HOB_ENDS, SessionError, SessionInfo, StartError};

/// Reasons why a session is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum ReplError {
    #[error("unknown session {session:?} in this worktree")]
    Unknown { session: String, known: Vec<String> },
    #[error("unknown evaluation {eval} in this worktree")]
    UnknownEval { eval: u64 },
    #[error("{}", earlier_daemon(*eval, session.as_deref(), *ended))]
    EarlierDaemon { eval: u64, session: Option<String>, ended: bool },
    #[error("{}", message(.0))]
    NotStarted(Box<SessionInfo>),
    #[error("another call is starting or ending session {session:?}")]
    Busy { session: String },
    #[error("session {session:?} belongs to another worktree, {}", worktree.display())]
    Elsewhere { session: String, worktree: PathBuf },
    #[error("invalid session name {name:?}")]
    Name { name: String },
    #[error("{limit} session{} already running", if *limit == 1 { " is" } else { "s are" })]
    TooMany { limit: usize },
    #[error("session {session:?} is already running, with {runs}")]
    OtherRuns { session: String, runs: String },
    #[error("session {session:?} ended with the previous daemon, which ran it with a `command`")]
    CommandEnded { session: String },
    #[error("refused: the call comes from code of a sandboxed session, which could leave its sandbox through hob")]
    FromSandbox,
    #[error("{}", no_directory(path))]
    NoDirectory { path: PathBuf },
    #[error("the cabal project in {} has several packages: {}", dir.display(), paths(packages))]
    Packages { dir: PathBuf, packages: Vec<PathBuf> },
    #[error("unknown program {program:?}")]
    UnknownProgram { program: String },
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error("session {session:?} did not start: {source}")]
    Start { session: String, source: StartError, hint: String },
    #[error(transparent)]
    Session(#[from] SessionError),
}

fn no_directory(path: &Path) -> String {
    match path.exists() {
        true => format!("{} is not a directory", path.display()),
        false => format!("the directory {} does not exist", path.display()),
    }
}

impl ReplError {
    pub fn hints(&self) -> Vec<String> {
        match self {
            ReplError::Unknown { known, .. } if known.is_empty() => {
                vec!["Start one with repl_start or repl_eval.".to_owned()]
            }
            ReplError::Unknown { known, .. } => vec![
                format!("Sessions: {}. repl_list has details.", known.join(", ")),
                "Or start it with repl_start or repl_eval.".to_owned(),
            ],
            ReplError::UnknownEval { .. } => {
                vec!["repl_list shows the running evaluations; without `eval`, the last one is used.".to_owned()]
            }
            ReplError::EarlierDaemon { eval, session: Some(session), .. } => vec![
                format!("Call repl_read with `session` {session:?} and `eval` {eval} for its output."),
                "Evaluate it again with repl_eval if that is safe.".to_owned(),
            ],
            ReplError::EarlierDaemon { session: None, .. } => {
                vec!["Call repl_read without `eval` for the remaining output of a session.".to_owned()]
            }
            ReplError::NotStarted(info) => hints(info),
            ReplError::Busy { .. } => vec!["Call again in a moment.".to_owned()],
            ReplError::Elsewhere { .. } => {
                vec!["Use another name in `session`, or leave it out for this worktree's own session.".to_owned()]
            }
            ReplError::Name { .. } => vec!["Use 1 to 64 letters, digits, `.`, `_` or `-` in `session`.".to_owned()],
            ReplError::TooMany { .. } => vec![
                "End one with repl_stop and its `session`; repl_list shows which are idle.".to_owned(),
                "`limits.sessions` in hob.toml sets the limit.".to_owned(),
            ],
            ReplError::OtherRuns { session, .. } => vec![format!(
                "Give another name in `session`, leave `profile` and `command` out to use this one, or end it first: repl_stop {{\"session\": {session:?}}}."
            )],
            ReplError::CommandEnded { .. } => {
                vec!["Start it with repl_start and the same `command`, or give another name in `session`.".to_owned()]
            }
            ReplError::FromSandbox => vec!["Make the call from outside of the session.".to_owned()],
            ReplError::NoDirectory { .. } => vec!["Give a directory that exists in `cwd`.".to_owned()],
            ReplError::Packages { packages, .. } => {
                let first = packages.first().map_or(String::new(), |package| package.display().to_string());
                vec![
                    format!("Start the session in one of them: repl_start with `cwd`, such as {first:?}."),
                    "Or name one in `component`, such as \"NAME\" or \"NAME:exe:app\".".to_owned(),
                ]
            }
            ReplError::UnknownProgram { .. } => {
                vec!["Also give the `profile` that drives it: ghci, cabal, stack, python, node or bash.".to_owned()]
            }
            ReplError::Profile(error) => error.hints(),
            ReplError::Start { source: StartError::Spawn(SpawnError::Cwd { .. }), .. } => {
                vec!["Give a directory that exists in `cwd`.".to_owned()]
            }
            ReplError::Start { source: StartError::Spawn(SpawnError::NoInterpreter { .. }), .. } => {
                vec!["Recreate that script, or give another `command`.".to_owned()]
            }
            ReplError::Start {
                source: StartError::Spawn(SpawnError::Record { .. }) | StartError::Output { .. },
                ..
            } => vec!["Free space on that disk, or make the directory writable, then call again.".to_owned()],
            ReplError::Start {
                source: StartError::Spawn(SpawnError::Guardian(_) | SpawnError::System { .. }), ..
            } => {
                vec!["End unneeded sessions (repl_list, repl_stop), then call again.".to_owned()]
            }
            ReplError::Start { hint, .. } => Some(hint.clone()).filter(|hint| !hint.is_empty()).into_iter().collect(),
            ReplError::Session(error) => session_hints(error),
        }
    }
}

fn earlier_daemon(eval: u64, session: Option<&str>, ended: bool) -> String {
    let session = session.map(|session| format!(" of session {session:?}")).unwrap_or_default();
    let end = if ended { "it had ended" } else { "it may not have ended" };
    format!("evaluation {eval}{session} ran under an earlier daemon; {end}, and its result is lost")
}

fn paths(paths: &[PathBuf]) -> String {
    const SHOWN: usize = 20;
    let mut shown: Vec<String> = paths.iter().take(SHOWN).map(|path| path.display().to_string()).collect();
    if paths.len() > SHOWN {
        shown.push(format!("and {} more", paths.len() - SHOWN));
    }
    shown.join(", ")
}

fn session_hints(error: &SessionError) -> Vec<String> {
    let hint = match error {
        SessionError::Refused(refusal) => refusal.hint.clone(),
        SessionError::QueueFull { runs, .. } => {
            let stop = runs
                .map_or(String::new(), |runs| format!(", or stop #{runs} with repl_interrupt {{\"eval\": {runs}}}"));
            format!("Wait with repl_wait{stop}; `limits.queued_evaluations` in hob.toml sets the limit.")
        }
        // The daemon exits and closes its connections.
        SessionError::Ended { reason, .. } if reason == HOB_ENDS => {
            "Call repl_eval again in a moment: it starts a new daemon and a new session.".to_owned()
        }
        SessionError::Ended { .. } => "repl_restart starts it again; repl_read still has its output.".to_owned(),
        SessionError::UnknownEval { .. } => {
            "Leave `eval` out for the last one; repl_read may still have its output.".to_owned()
        }
        SessionError::NotRunning { status, runs: Some(runs), .. } if status.is_final() => {
            format!("To use the running evaluation, give `eval` {runs}.")
        }
        SessionError::NotRunning { eval, status, .. } if status.is_final() => {
            format!("Call repl_wait with `eval` {eval} for its result.")
        }
        SessionError::NotRunning { eval, .. } => format!("repl_wait with `eval` {eval} waits for it."),
        SessionError::NothingYet { .. } => "Evaluate something with repl_eval.".to_owned(),
        SessionError::NothingRuns { .. } => {
            "Give input in `stdin` of repl_eval, or while the evaluation runs.".to_owned()
        }
        SessionError::HasItsInput { eval, .. } => format!(
            "repl_wait {{\"eval\": {eval}}} continues to wait; to answer a program's questions, leave `stdin` out and use repl_input."
        ),
        SessionError::Uninterruptible { session } => format!(
            "repl_restart {{\"session\": {session:?}, \"replay\": \"definitions\"}} starts it again; repl_list shows the running code."
        ),
        SessionError::WaitsForInput { eval, .. } => {
            format!(
                "Answer with repl_input {{\"eval\": {eval}, \"text\": …}}, or end it with repl_interrupt {{\"eval\": {eval}}}."
            )
        }
        SessionError::StillRunning { eval, .. } => {
            format!("repl_wait continues to wait; repl_interrupt {{\"eval\": {eval}}} stops it.")
        }
    };
    vec![hint]
}

impl From<ReplError> for ToolError {
    fn from(error: ReplError) -> ToolError {
        if let ReplError::NotStarted(info) = &error {
            return not_started(info);
        }
        let text = error.to_string();
        let mut letters = text.chars();
        let message = letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str());
        let user = ToolError::user(format!("{}.", message.unwrap_or_default()));
        error.hints().into_iter().fold(user, ToolError::hint)
    }
}

impl From<SessionError> for ToolError {
    fn from(error: SessionError) -> ToolError {
        ReplError::Session(error).into()
    }
}

//! Sessions on real programs.

mod cabal;
mod checkout;
mod ends;
mod ghci;
mod handles;
mod haskell;
mod hostile;
mod interrupts;
mod node;
mod pictures;
pub(crate) mod pieces;
mod profiles;
mod prompt;
mod sandbox;
mod settings;
mod sharing;
mod soak;
mod standard_input;
mod stress;
mod terminal;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use process::Guard;
use process::output::OutputLog;

use super::{EvalRequest, Handle, InterruptOutcome, InterruptReport, Launch, SessionSpec, SessionState, View, start};
use crate::adapter::Adapter;
use crate::adapter::ghci::Ghci;
use crate::result::EvalResult;

/// Long enough for anything on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Interrupts the running code, and repeats that if the signal is lost. That happens on a shell (or Node's `execSync`)
/// and its child until the child has executed its program, on Python in a callback whose exceptions it ignores (the
/// import system has such callbacks), and on GHCi as a statement ends (bare GHCi then hangs, and others compute: 3 of 400
/// signals).
pub(crate) async fn interrupt(profile: &str, session: &Handle) -> InterruptReport {
    loop {
        let report = session.interrupt(1000).await.expect("an answer");
        let is_ignored = report.eval.as_ref().is_some_and(|eval| eval.stderr.contains("Exception ignored in"));
        match report.outcome {
            InterruptOutcome::NotYet if profile != "python" || is_ignored => {}
            InterruptOutcome::Uninterruptible if profile == "bash" => {}
            _ => return report,
        }
    }
}

/// Returns the parameters of a session for tests.
pub(crate) fn setup(command: &[&str], cwd: &Path, adapter: Arc<dyn Adapter>) -> SessionSpec {
    let kept = ["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()));
    let forced = [("LC_ALL", "C.UTF-8"), ("TERM", "dumb")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    SessionSpec {
        name: "main".to_owned(),
        worktree: cwd.to_owned(),
        owner: "test".to_owned(),
        launch: Launch {
            profile: "test".to_owned(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            env: kept.into_iter().chain(forced).collect(),
            cwd: cwd.to_owned(),
            adapter,
            start_timeout: LONG,
            install_hint: String::new(),
            memory_limit: 8 << 30,
            sandbox: None,
            called: "test".to_owned(),
            fallback: None,
            notes: Vec::new(),
        },
        queue: 16,
        idle: None,
        records: None,
        guard: Guard::Without,
        sink: None,
        numbers: Arc::new(crate::numbers::EvalNumbers::fresh()),
    }
}

pub(crate) fn log() -> OutputLog {
    OutputLog::create(None, Default::default()).expect("memory")
}

pub(crate) fn ghci() -> Handle {
    start(setup(&["ghci", "-ferror-spans"], Path::new("/"), Arc::new(Ghci)), log()).expect("ghci is installed")
}

pub(crate) async fn eval(session: &Handle, code: &str) -> EvalResult {
    let request = EvalRequest { wait: LONG, ..EvalRequest::new(code) };
    session.eval(request).await.expect("an answer")
}

/// Formats a result as `status | stdout | stderr`, escaped.
pub(crate) fn line(result: &EvalResult) -> String {
    format!("{} | {:?} | {:?}", result.status.name(), result.stdout, result.stderr)
}

/// Waits until the session's state satisfies the predicate.
pub(crate) async fn until(session: &Handle, wish: impl Fn(SessionState) -> bool) {
    let mut seen = session.watch();
    let waited = tokio::time::timeout(LONG, seen.wait_for(|info| wish(info.state))).await;
    waited.expect("it comes in time").expect("the session tells");
}

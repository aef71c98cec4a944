//! Evaluates code in a named session: finds or starts the session, queues the code, waits for the answer.
//!
//! The queue and the answer belong to [`crate::session`]; [`super::start`] starts the sessions.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use project::Caller;

use super::Repl;
use crate::error::ReplError;
use crate::result::{EvalResult, Status};
use crate::session::{EvalRequest, Handle, SessionError, SessionInfo, SessionState};

/// The note about a session of the same name under an earlier daemon.
const EARLIER: &str = "The session of that name before it ended with its daemon: what it had defined is gone, what it \
                       printed can be read with repl_read.";
/// The time by which the published state of a session may lag behind its answers.
const LAG: Duration = Duration::from_secs(1);

impl Repl {
    /// Evaluates in the session of that name, starting it if necessary. Calls are evaluated in order of arrival, even
    /// if the first of them must start the session. `request.wait` covers all of it. Also returns notes about the
    /// session.
    pub async fn eval(
        self: &Arc<Self>,
        caller: &Caller,
        session: Option<&str>,
        request: EvalRequest,
    ) -> Result<(EvalResult, Vec<String>), ReplError> {
        self.eval_with(caller, session, None, request).await
    }

    /// Like [`Repl::eval`], in a session of this profile: a new one, or one that has it.
    pub async fn eval_with(
        self: &Arc<Self>,
        caller: &Caller,
        session: Option<&str>,
        profile: Option<&str>,
        mut request: EvalRequest,
    ) -> Result<(EvalResult, Vec<String>), ReplError> {
        let key = self.key(caller, session)?;
        let begun = Instant::now();
        let guard = match self.start_lock(&key).try_lock_owned() {
            Ok(guard) => guard,
            Err(_) => {
                let guard = tokio::time::timeout(request.wait, self.lock_start(&key)).await;
                guard.map_err(|_| ReplError::Busy { session: key.name.clone() })?
            }
        };
        let (mut started, guard) = self.ensure_locked(caller, key.clone(), profile, guard).await?;
        if started.fresh {
            request.wait = request.wait.saturating_sub(begun.elapsed());
            if started.notes.is_empty() {
                let info = started.handle.info();
                started.notes.extend(profile.is_none().then(|| new_session_note(&info)));
                started.notes.extend(info.start_notes);
                if started.handle.begun() > 0 {
                    started.notes.push(EARLIER.to_owned());
                }
            }
        }
        let look = self.look_at_sources(&started.handle);
        let mut answer = pin!(started.handle.eval(request));
        // The first poll queues the code in the session; only then may the next caller go on.
        let first = poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await;
        let others = self.lock().slots.get_mut(&key).and_then(|slot| slot.evaluators.record(caller));
        started.notes.extend(others);
        drop(guard);
        let answer = match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => answer.await,
        };
        let result = check_started(&started.handle, answer).await?;
        started.notes.extend(self.loaded_notes(&started.handle, &result, look).await);
        Ok((result, started.notes))
    }
}

/// Converts the answer for an evaluation that never ran, because its session exited instead of starting, into an error
/// with the program's output and hints.
pub(crate) async fn check_started(
    handle: &Handle,
    answer: Result<EvalResult, SessionError>,
) -> Result<EvalResult, ReplError> {
    let dead = match &answer {
        Ok(result) => matches!(result.status, Status::Exited | Status::Crashed | Status::Killed),
        Err(error) => matches!(error, SessionError::Ended { .. }),
    };
    if dead {
        let mut seen = handle.watch();
        // The published state lags a little behind the last answers.
        let _ = tokio::time::timeout(LAG, seen.wait_for(|info| info.state != SessionState::Starting)).await;
        let info = handle.info();
        if !info.prompted && matches!(info.state, SessionState::Exited | SessionState::Crashed | SessionState::Killed) {
            return Err(ReplError::NotStarted(Box::new(info)));
        }
    }
    Ok(answer?)
}

/// Returns the note for callers that did not choose a profile: code in another language than the session's is the most common first error.
fn new_session_note(info: &SessionInfo) -> String {
    let why = info.fallback.as_ref().map_or(String::new(), |why| format!(", {why}"));
    format!("The session is new, of profile {}{why}; `profile` with another `session` starts another.", info.profile)
}

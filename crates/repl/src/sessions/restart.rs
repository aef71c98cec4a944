//! Restarts a session: ends its process, starts another with the same parameters, replays its definitions.

use std::sync::Arc;
use std::time::Duration;

use project::Caller;

use super::Repl;
use crate::error::ReplError;
use crate::result::Status;
use crate::session::{EvalRequest, Handle};

/// The result of a replay.
#[derive(Debug, Clone, Default)]
pub struct Replayed {
    /// The number of pieces of code that were evaluated again.
    pub done: usize,
    /// The pieces that failed this time.
    pub failed: Vec<String>,
    /// The number of pieces left out for lack of time.
    pub left: usize,
}

impl Repl {
    /// Ends a session and starts it again, with its definitions if `definitions` is set; `wait` bounds the replay.
    pub async fn restart(
        self: &Arc<Self>,
        caller: &Caller,
        session: Option<&str>,
        definitions: bool,
        wait: Duration,
    ) -> Result<(Handle, Replayed), ReplError> {
        let until = tokio::time::Instant::now() + wait;
        let (handle, code) = self.restart_process(caller, session, definitions).await?;
        let mut replayed = Replayed::default();
        let total = code.len();
        for (done, code) in code.iter().enumerate() {
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            let request = EvalRequest { wait: left, ..EvalRequest::new(code.clone()) };
            match handle.eval(request).await {
                Ok(result) if result.status == Status::Done => replayed.done += 1,
                Ok(result) if result.status.is_final() => replayed.failed.push(code.clone()),
                _ => {
                    replayed.left = total - done;
                    break;
                }
            }
        }
        Ok((handle, replayed))
    }

    /// Ends a session and starts its process again. Returns the earlier definitions if requested.
    async fn restart_process(
        self: &Arc<Self>,
        caller: &Caller,
        session: Option<&str>,
        definitions: bool,
    ) -> Result<(Handle, Vec<String>), ReplError> {
        let key = self.key(caller, session)?;
        let guard = self.lock_start(&key).await;
        let old = self.find(caller, session)?;
        let code = if definitions { old.definitions().await } else { Vec::new() };
        old.stop("it was restarted").await;
        let plan = self.restart_plan(caller, &key)?;
        let (handle, _guard) = self.launch(key, plan, guard).await?;
        Ok((handle, code))
    }
}

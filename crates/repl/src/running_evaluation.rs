//! The running evaluation, for answers about sessions.

use schemars::JsonSchema;
use serde::Serialize;

use crate::session::{SessionInfo, SessionState};
use crate::text;

/// A running evaluation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Running {
    /// Its number.
    pub eval: u64,
    /// The first line of its code.
    pub code: String,
    /// Its run time so far, in milliseconds.
    pub duration_ms: f64,
    /// True if a call waits for something in the session.
    pub waited_for: bool,
}

impl Running {
    pub(crate) fn from_info(info: &SessionInfo) -> Option<Running> {
        let duration_ms = (info.running.as_secs_f64() * 1e4).round() / 10.0;
        info.current.map(|eval| Running { eval, code: info.code.clone(), duration_ms, waited_for: info.waited_for })
    }

    /// Describes the evaluation and its run time, with the calls to make if no call waits for it.
    pub(crate) fn describe(&self, session: &str, state: SessionState) -> String {
        let Running { eval, code, .. } = self;
        let since = text::duration(self.duration_ms);
        let ends = match state {
            SessionState::Uninterruptible => format!("repl_restart {{\"session\": {session:?}}}"),
            _ => format!("repl_interrupt {{\"eval\": {eval}}}"),
        };
        let next = match state {
            SessionState::WaitingForInput => {
                format!(": repl_input {{\"eval\": {eval}, \"text\": …}} answers, {ends} ends it")
            }
            _ if self.waited_for => String::new(),
            _ => format!(", no call waits for it: repl_wait {{\"eval\": {eval}}} would, {ends} ends it"),
        };
        format!("{} #{eval} for {since} (`{code}`{next})", state.name())
    }
}

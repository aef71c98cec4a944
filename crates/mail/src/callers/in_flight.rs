//! Calls of each run that hand out messages and have not been answered yet. A call that begins meanwhile was sent
//! before their answers could be seen, so it does not confirm their messages.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use project::Caller;

use crate::service::token;

/// The tokens of calls in flight, by run.
type Tokens = Mutex<HashMap<String, Vec<u64>>>;

/// A call in flight; dropped when it has answered.
pub struct InFlight {
    tokens: Arc<Tokens>,
    run: String,
    own: u64,
    unseen: Vec<u64>,
}

impl InFlight {
    pub(super) fn begin(tokens: &Arc<Tokens>, caller: &Caller) -> InFlight {
        let run = caller.run.clone().unwrap_or_else(|| format!("connection {}", caller.connection));
        let own = token();
        let mut all = tokens.lock();
        let of_run = all.entry(run.clone()).or_default();
        let unseen = of_run.clone();
        of_run.push(own);
        drop(all);
        InFlight { tokens: Arc::clone(tokens), run, own, unseen }
    }

    /// Adds calls whose answers this one's client had not seen when it sent it.
    pub(super) fn has_not_seen(&mut self, tokens: impl Iterator<Item = u64>) {
        self.unseen.extend(tokens);
    }

    /// Returns the token of this call.
    pub fn token(&self) -> u64 {
        self.own
    }

    /// Returns the tokens of the calls that were in flight when this one began.
    pub fn unseen(&self) -> Vec<u64> {
        self.unseen.clone()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut all = self.tokens.lock();
        if let Some(of_run) = all.get_mut(&self.run) {
            of_run.retain(|token| *token != self.own);
            if of_run.is_empty() {
                all.remove(&self.run);
            }
        }
    }
}

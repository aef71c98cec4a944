//! The time limit of calls ([`Limits::call`](super::Limits::call)). Waiting for a slot or for a person does not count.

use tokio::time::Instant;

use super::calls::{Call, Key, Reply, State, Target};
use super::connection_state::ConnectionState;
use crate::tool::ToolError;
use crate::wire::build::RpcError;
use crate::wire::code;

impl ConnectionState {
    /// Notes the time at which a call that has just started times out.
    pub(super) fn schedule_timeout(&mut self, call: &mut Call) {
        let Some(limit) = self.limits.call.filter(|_| call.id.is_some()) else { return };
        let at = Instant::now() + limit;
        call.timeout_at = Some(at);
        self.timeout_at = Some(self.timeout_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Resumes a call that asked, with its full time.
    pub(super) fn resume_with_timeout(&mut self, key: Key) {
        self.calls.resume(key);
        let Some(limit) = self.limits.call else { return };
        if let Some(call) = self.calls.get_mut(key)
            && matches!(call.state, State::Running(_))
        {
            let at = Instant::now() + limit;
            call.timeout_at = Some(at);
            self.timeout_at = Some(self.timeout_at.map_or(at, |earlier| earlier.min(at)));
        }
    }

    /// Ends the calls whose time is over.
    pub(super) fn time_out(&mut self, now: Instant) {
        self.timeout_at = None;
        let mut late = Vec::new();
        for (key, call) in self.calls.iter_mut() {
            let Some(at) = call.timeout_at else { continue };
            match call.state {
                State::Running(_) if at <= now => late.push(key),
                State::Running(_) => self.timeout_at = Some(self.timeout_at.map_or(at, |earlier| earlier.min(at))),
                // A question has a separate timeout, and so has a cancelled call.
                State::Waiting(_) | State::Asking(_) | State::Cancelled(..) => {}
            }
        }
        late.sort_unstable_by_key(|key| key.0);
        late.into_iter().for_each(|key| self.time_out_call(key));
    }

    fn time_out_call(&mut self, key: Key) {
        // Its earlier output comes first, and it may be done.
        self.take_inbound();
        self.drop_questions(key);
        let Some(call) = self.calls.remove(key) else { return };
        self.progress.remove(&key);
        call.peer.leave_slot();
        call.cancel.cancel();
        if let State::Running(Some(task)) = &call.state {
            let (task, grace) = (task.clone(), self.limits.cancel_grace);
            tokio::spawn(async move {
                tokio::time::sleep(grace).await;
                task.abort();
            });
        }
        let name = call.target.name();
        let limit = self.limits.call.unwrap_or_default();
        tracing::warn!(call = name, ?limit, "a call took too long and was cancelled");
        let message = format!("{name} was cancelled: it took longer than the limit of {limit:?}");
        let reply = match &call.target {
            Target::Tool(_) => Reply::Tool(Err(ToolError::user(message).hint("request less in one call"))),
            Target::Method(..) | Target::Handler(..) => Reply::Method(Err(
                RpcError::new(code::INTERNAL, message).with_data(&serde_json::json!({"reason": "timeout"}))
            )),
        };
        self.answer(call, reply);
    }
}

//! What the caller is told of its mail at an event of its hooks. The name is not taken for it, and a store that had nothing
//! to tell is not asked again until something has arrived.

use std::collections::HashMap;
use std::sync::Arc;

use mcp::tool::Context;
use parking_lot::Mutex;

use super::{Callers, caller};
use crate::hints::{HookContext, HookEvent, hook_context};
use crate::model::{AgentName, Floor};
use crate::service::Ticket;

/// Mailboxes that had nothing to tell at a kind of event, each with the bell that rings when something arrives.
#[derive(Default)]
pub(super) struct Quiet(Mutex<HashMap<(AgentName, HookEvent), Ticket>>);

/// How many of them are remembered.
const QUIET_MAX: usize = 1000;

impl Callers {
    /// What to tell the caller at an event of its hooks, if there is something. A caller without a name has no mailbox.
    pub async fn hook_context(self: &Arc<Self>, cx: &Context, event: HookEvent) -> Option<HookContext> {
        let key = (self.going_by(cx)?, event);
        if self.quiet.0.lock().get(&key).is_some_and(|bell| !bell.was_rung()) {
            return None;
        }
        let (mail, agent) = self.look(cx).await.ok()?;
        // Registered before the store is asked, so that nothing arrives unnoticed between the two.
        let bell = mail.arrivals(&agent).ok();
        let told = hook_context(&mail, &agent, event).await;
        let told = told.inspect_err(|error| tracing::debug!(%error, %agent, "tell of mail at a hook")).ok()?;
        let mut quiet = self.quiet.0.lock();
        quiet.remove(&key);
        match (&told, bell) {
            (None, Some(bell)) => {
                if quiet.len() >= QUIET_MAX {
                    quiet.clear();
                }
                quiet.insert(key, bell);
            }
            // The hints beside results need not say it again.
            (Some(told), _) if event.floor() == Floor::All => {
                drop(quiet);
                if let Ok(caller) = caller(cx) {
                    self.hints.told(caller.connection, told.latest_seq);
                }
            }
            _ => {}
        }
        told
    }
}

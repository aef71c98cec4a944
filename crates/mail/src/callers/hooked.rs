//! What the caller is told of its mail at an event of its hooks. The name is not taken for it, and a store that had nothing
//! to tell is not asked again until something has arrived.

use std::collections::HashMap;
use std::sync::Arc;

use mcp::tool::Context;
use parking_lot::Mutex;

use super::{Callers, caller};
use crate::hints::{HookContext, HookEvent, hook_context, in_hand};
use crate::model::{AgentName, Floor, SessionId};
use crate::service::Ticket;

/// Mailboxes that had nothing to tell at a kind of event, each with the bell that rings when something arrives.
#[derive(Default)]
pub(super) struct Quiet(Mutex<HashMap<(AgentName, HookEvent), Ticket>>);

/// How many of them are remembered.
const QUIET_MAX: usize = 1000;

/// The lines about what an agent has in hand, which lost its memory.
pub struct InHand {
    pub text: String,
    /// To be called if the agent did not see them.
    pub lost: Box<dyn FnOnce() + Send>,
}

impl Callers {
    /// What to tell a caller that lost its memory of the messages it has in hand, if there is something.
    pub async fn in_hand(self: &Arc<Self>, cx: &Context) -> Option<InHand> {
        let session = SessionId::new(caller(cx).ok()?.run.as_deref()?).ok()?;
        let (mail, agent) = self.look(cx).await.ok()?;
        let told = in_hand(&mail, &agent, &session).await;
        let (text, ids) = told.inspect_err(|error| tracing::debug!(%error, %agent, "tell of mail in hand")).ok()??;
        let runtime = tokio::runtime::Handle::current();
        let lost = Box::new(move || {
            runtime.spawn(async move {
                if let Err(error) = mail.retell_again(&agent, &session, ids).await {
                    tracing::debug!(%error, %agent, "note that a list of mail in hand was lost");
                }
            });
        });
        Some(InHand { text, lost })
    }

    /// What to tell the caller at an event of its hooks, if there is something. A caller without a name has no mailbox.
    pub async fn hook_context(self: &Arc<Self>, cx: &Context, event: HookEvent) -> Option<HookContext> {
        let key = (self.going_by(cx)?, event);
        if self.quiet.0.lock().get(&key).is_some_and(|bell| !bell.was_rung()) {
            return None;
        }
        let (mail, agent) = self.look(cx).await.ok()?;
        // Registered before the store is asked, so that nothing arrives unnoticed between the two.
        let bell = mail.bell(&agent).ok();
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

//! Mail reported to a caller at an event of its hooks. This does not take the name. A store without messages to report
//! is not queried again until a message arrives.

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

/// The limit of remembered mailboxes.
const QUIET_MAX: usize = 1000;

/// The lines about the messages in hand, for an agent that lost its memory.
pub struct InHand {
    pub text: String,
    /// To be called if the agent did not see them.
    pub lost: Box<dyn FnOnce() + Send>,
}

impl Callers {
    /// Returns the text about the messages in hand for a caller that lost its memory, if there are any.
    pub async fn in_hand(self: &Arc<Self>, cx: &Context) -> Option<InHand> {
        let session = SessionId::new(caller(cx).ok()?.run.as_deref()?).ok()?;
        let (mail, agent) = self.mail_and_name(cx).await.ok()?;
        let told = in_hand(&mail, &agent, &session).await;
        let (text, ids) =
            told.inspect_err(|error| tracing::debug!(%error, %agent, "cannot remind of received mail")).ok()??;
        let runtime = tokio::runtime::Handle::current();
        let lost = Box::new(move || {
            runtime.spawn(async move {
                if let Err(error) = mail.list_in_hand_again(&agent, &session, ids).await {
                    tracing::debug!(%error, %agent, "cannot record that a reminder of mail was lost");
                }
            });
        });
        Some(InHand { text, lost })
    }

    /// Returns the text for the caller at an event of its hooks, if there is any. A caller without a name has no
    /// mailbox.
    pub async fn hook_context(self: &Arc<Self>, cx: &Context, event: HookEvent) -> Option<HookContext> {
        let key = (self.current_name(cx)?, event);
        if self.quiet.0.lock().get(&key).is_some_and(|bell| !bell.was_rung()) {
            return None;
        }
        let (mail, agent) = self.mail_and_name(cx).await.ok()?;
        // Registered before the store is asked, so that nothing arrives unnoticed between the two.
        let bell = mail.bell(&agent).ok();
        let told = hook_context(&mail, &agent, event).await;
        let told = told.inspect_err(|error| tracing::debug!(%error, %agent, "cannot announce mail at a hook")).ok()?;
        let mut quiet = self.quiet.0.lock();
        quiet.remove(&key);
        match (&told, bell) {
            (None, Some(bell)) => {
                if quiet.len() >= QUIET_MAX {
                    quiet.clear();
                }
                quiet.insert(key, bell);
            }
            // The hints next to results need not repeat it.
            (Some(told), _) if event.floor() == Floor::All => {
                drop(quiet);
                if let Ok(caller) = caller(cx) {
                    self.hints.mark_told(caller.connection, told.latest_seq);
                }
            }
            _ => {}
        }
        told
    }
}

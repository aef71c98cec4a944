//! Messages handed out in answers that their clients may have cancelled. A client that cancels a call drops the answer
//! that is on its way (MCP "Cancellation"), so its next call must not confirm the messages in that answer.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

use mcp::tool::Context;
use tokio::sync::oneshot;

use crate::error::MailError;
use crate::model::{Session, SessionId};
use crate::service::Mail;

/// The maximum number of calls of a session that are watched: the limit on calls in flight of a connection.
const CALLS: usize = 64;

/// Hand-outs that no later call has confirmed yet.
#[derive(Default)]
pub(super) struct HandOuts(Mutex<HashMap<SessionId, Vec<HandOut>>>);

struct HandOut {
    /// The token of the call.
    handed: u64,
    call: Context,
    /// Dropping it ends the watch.
    _watch: oneshot::Sender<()>,
}

impl HandOuts {
    /// Watches whether the client cancels an answer that holds messages.
    pub(super) fn watch_answer(self: &Arc<Self>, mail: &Arc<Mail>, session: &Session, cx: &Context, handed: u64) {
        let (watch, ended) = oneshot::channel();
        let mut given = self.lock();
        let of_session = given.entry(session.id.clone()).or_default();
        if of_session.len() >= CALLS {
            of_session.remove(0);
        }
        of_session.push(HandOut { handed, call: cx.clone(), _watch: watch });
        drop(given);
        let (this, mail, session, cx) = (Arc::clone(self), Arc::clone(mail), session.id.clone(), cx.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = cx.cancelled() => {
                    mail.give_up(&session, handed).await;
                    // Removed last: until then, the next call must free the messages itself.
                    this.remove(&session, handed);
                }
                _ = ended => {}
            }
        });
    }

    /// Frees the messages that the session never saw, before a call confirms what it holds.
    ///
    /// # Errors
    /// When the store cannot free them now. The call must not confirm then.
    pub(super) async fn before_confirming(&self, mail: &Mail, session: &SessionId) -> Result<(), MailError> {
        let mut given = self.lock().remove(session).unwrap_or_default();
        while let Some(one) = given.pop() {
            if one.call.is_cancelled()
                && let Err(error) = mail.take_back(session, Some(one.handed)).await
            {
                given.push(one);
                self.lock().entry(session.clone()).or_default().extend(given);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns the tokens of the calls that handed something out and are not confirmed.
    pub(super) fn unconfirmed(&self, session: &SessionId) -> impl Iterator<Item = u64> + use<> {
        let given = self.lock();
        let tokens: Vec<u64> = given.get(session).into_iter().flatten().map(|one| one.handed).collect();
        tokens.into_iter()
    }

    /// Forgets a session whose connection has ended.
    pub(super) fn forget(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    fn remove(&self, session: &SessionId, handed: u64) {
        let mut given = self.lock();
        if let Some(of_session) = given.get_mut(session) {
            of_session.retain(|one| one.handed != handed);
            if of_session.is_empty() {
                given.remove(session);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<HandOut>>> {
        self.0.lock()
    }
}

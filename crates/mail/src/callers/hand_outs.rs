//! What was handed out in answers that their clients may have given up. A client that cancels a call drops the answer
//! that is on its way (MCP "Cancellation"): it has not seen what it held, so its next call must not confirm that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp::tool::Context;
use tokio::sync::oneshot;

use crate::error::MailError;
use crate::model::{Session, SessionId};
use crate::service::Mail;

/// How many calls of a session are watched at once: as many as a connection may have in flight.
const CALLS: usize = 64;

/// The hand-outs that no later call has confirmed yet.
#[derive(Default)]
pub(super) struct HandOuts(Mutex<HashMap<SessionId, Vec<HandOut>>>);

struct HandOut {
    /// Names what the call was handed.
    handed: u64,
    call: Context,
    /// Ends the watch when it is dropped.
    _watch: oneshot::Sender<()>,
}

impl HandOuts {
    /// An answer with messages goes out: watches whether its client gives it up.
    pub(super) fn out(self: &Arc<Self>, mail: &Arc<Mail>, session: &Session, cx: &Context, handed: u64) {
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
                    // Only now: until then a next call has to see to it itself.
                    this.remove(&session, handed);
                }
                _ = ended => {}
            }
        });
    }

    /// A call is about to confirm what its session has in hand: what it never saw goes back before.
    ///
    /// # Errors
    /// When the store cannot do that now. Then the call must not confirm.
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

    /// The session's connection has ended.
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Which sessions are connected, and what happens when one ends. A lease lasts as long as its session; no timer runs
//! while the session is connected.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::journal::Record;

use super::Mail;
use crate::error::{MailError, StoreError};
use crate::model::{AgentName, Session, SessionId};
use crate::store::change::Release;
use crate::store::query;

#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<SessionId, Life>>);

struct Life {
    agent: Option<AgentName>,
    connections: usize,
    /// Rises with every connection; an earlier grace period then no longer applies.
    round: u64,
    /// The longest time that the session may be without a connection.
    grace: Duration,
}

/// A connection of a session. When the last one is dropped, a grace period begins; without a new connection, the
/// session then ends.
pub struct Attachment {
    mail: Weak<Mail>,
    session: SessionId,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let Some(mail) = self.mail.upgrade() else { return };
        let (round, grace) = {
            let mut lives = mail.sessions.lives();
            let Some(life) = lives.get_mut(&self.session) else { return };
            life.connections = life.connections.saturating_sub(1);
            if life.connections > 0 {
                return;
            }
            (life.round, life.grace)
        };
        mail.begin_grace(self.session.clone(), round, grace);
    }
}

impl Sessions {
    fn lives(&self) -> MutexGuard<'_, HashMap<SessionId, Life>> {
        self.0.lock()
    }

    pub(crate) fn is_connected(&self, agent: &AgentName) -> bool {
        self.lives().values().any(|life| life.connections > 0 && life.agent.as_ref() == Some(agent))
    }

    pub(crate) fn connected(&self) -> Vec<AgentName> {
        let lives = self.lives();
        let connected = lives.values().filter(|life| life.connections > 0);
        connected.filter_map(|life| life.agent.clone()).collect()
    }
}

impl Mail {
    /// Counts a connection of this session until the result is dropped.
    pub fn attach(self: &Arc<Mail>, session: &Session) -> Attachment {
        self.attach_with(session, self.limits.grace)
    }

    /// Like [`Mail::attach`], with a different grace period.
    pub fn attach_with(self: &Arc<Mail>, session: &Session, grace: Duration) -> Attachment {
        let mut lives = self.sessions.lives();
        let life = lives.entry(session.id.clone()).or_insert(Life { agent: None, connections: 0, round: 0, grace });
        life.agent = Some(session.agent.clone());
        life.grace = life.grace.max(grace);
        life.connections += 1;
        life.round += 1;
        drop(lives);
        self.seen.mark(&session.agent);
        Attachment { mail: Arc::downgrade(self), session: session.id.clone() }
    }

    /// Ends a session whose process has ended. What it had in hand is free at once.
    pub async fn end_session(self: &Arc<Mail>, session: &SessionId) {
        self.sessions.lives().remove(session);
        self.release(session.clone(), None).await;
    }

    /// Frees the messages of a cancelled call: the session never saw its answer.
    pub async fn give_up(self: &Arc<Mail>, session: &SessionId, handed: u64) {
        self.release(session.clone(), Some(handed)).await;
    }

    /// Frees what the session had in hand, or the messages of one call, since they were never seen. The session goes
    /// on.
    ///
    /// # Errors
    /// When the store cannot do that now. The session must not confirm anything then.
    pub async fn take_back(&self, session: &SessionId, handed: Option<u64>) -> Result<(), MailError> {
        Ok(self.release_once(session, handed).await?)
    }

    /// Waits for sessions of a former daemon; those that do not come back within the grace period have ended.
    pub(crate) async fn expect_former_sessions(self: &Arc<Mail>) -> Result<(), MailError> {
        for session in self.store.look(query::Leases).await? {
            let round = {
                let mut lives = self.sessions.lives();
                let known = lives.contains_key(&session);
                let grace = self.limits.grace;
                let life =
                    lives.entry(session.clone()).or_insert(Life { agent: None, connections: 0, round: 0, grace });
                if known {
                    continue;
                }
                life.round
            };
            self.begin_grace(session, round, self.limits.grace);
        }
        Ok(())
    }

    fn begin_grace(self: &Arc<Mail>, session: SessionId, round: u64, grace: Duration) {
        let weak = Arc::downgrade(self);
        self.runtime.spawn(async move {
            tokio::time::sleep(grace).await;
            let Some(mail) = weak.upgrade() else { return };
            {
                let mut lives = mail.sessions.lives();
                if lives.get(&session).is_none_or(|life| life.connections > 0 || life.round != round) {
                    return;
                }
                lives.remove(&session);
            }
            mail.release(session, None).await;
        });
    }

    async fn release_once(&self, session: &SessionId, token: Option<u64>) -> Result<(), StoreError> {
        let released = self.store.change(Release { sessions: vec![session.clone()], token }).await?;
        for (message, agent) in released.dead {
            self.record(|| Record::MailDead { message: message.to_string(), agent: agent.to_string() });
        }
        Ok(())
    }

    /// Frees what the session had in hand, or the messages of one call. Retries an unavailable store until it answers.
    async fn release(self: &Arc<Mail>, session: SessionId, token: Option<u64>) {
        let mut pause = Duration::from_millis(100);
        loop {
            match self.release_once(&session, token).await {
                Ok(()) => return,
                Err(
                    error @ (StoreError::Refused(_)
                    | StoreError::Corrupt { .. }
                    | StoreError::Newer { .. }
                    | StoreError::Gone),
                ) => {
                    tracing::error!(%error, "free what an ended session had in hand");
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "free what an ended session had in hand; trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(10));
                }
            }
            // If the session came back meanwhile, it keeps what it has in hand.
            if token.is_none() && self.sessions.lives().get(&session).is_some_and(|life| life.connections > 0) {
                return;
            }
        }
    }
}

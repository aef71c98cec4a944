//! The connected sessions, and the end of a session. A lease lasts as long as its session; no timer runs while the
//! session is connected. An agent is active while one of its processes lives.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::journal::Record;

use super::Mail;
use crate::error::{MailError, StoreError};
use crate::model::{AgentName, MessageId, Session, SessionId};
use crate::store::change::{LeaseSelection, Release};
use crate::store::query;

/// The meaning of a connection for the activity of its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The agent's process lives as long as the connection.
    Process,
    /// The agent has no lasting connection: it counts as active until it has sent no request for a while.
    Requests,
    /// Nothing: a command speaks for the agent.
    Command,
}

#[derive(Default)]
pub(crate) struct Sessions {
    lives: Mutex<HashMap<SessionId, Life>>,
    /// The agents that entered here, with their fences: this daemon would see a process of theirs.
    known: Mutex<HashMap<AgentName, u64>>,
}

struct Life {
    agent: Option<AgentName>,
    connections: usize,
    /// The number of connections that belong to a process of the agent.
    processes: usize,
    last_request: Option<Instant>,
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
    presence: Presence,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let Some(mail) = self.mail.upgrade() else { return };
        let (round, grace) = {
            let mut lives = mail.sessions.lock_lives();
            let Some(life) = lives.get_mut(&self.session) else { return };
            life.connections = life.connections.saturating_sub(1);
            if self.presence == Presence::Process {
                life.processes = life.processes.saturating_sub(1);
            }
            if life.connections > 0 {
                return;
            }
            (life.round, life.grace)
        };
        mail.begin_grace(self.session.clone(), round, grace);
    }
}

impl Sessions {
    fn lock_lives(&self) -> MutexGuard<'_, HashMap<SessionId, Life>> {
        self.lives.lock()
    }

    /// Returns true if a process of the agent lives, or the last of its requests came within that time.
    pub(crate) fn is_active(&self, agent: &AgentName, within: Duration) -> bool {
        self.lock_lives().values().any(|life| life.agent.as_ref() == Some(agent) && life.is_active(within))
    }

    /// Returns true if a process of the agent would be seen by this daemon.
    pub(crate) fn is_known(&self, agent: &AgentName) -> bool {
        self.known.lock().contains_key(agent)
    }

    /// Notes the newest fence of a name: if it was taken over, its process may be elsewhere.
    pub(crate) fn note_fence(&self, agent: &AgentName, fence: u64) {
        self.known.lock().retain(|known, of| known != agent || *of >= fence);
    }

    /// Forgets an agent that was renamed or removed.
    pub(crate) fn forget(&self, agent: &AgentName) {
        self.known.lock().remove(agent);
        self.lock_lives()
            .values_mut()
            .filter(|life| life.agent.as_ref() == Some(agent))
            .for_each(|life| life.agent = None);
    }

    pub(crate) fn active(&self, within: Duration) -> Vec<AgentName> {
        let lives = self.lock_lives();
        let active = lives.values().filter(|life| life.is_active(within));
        active.filter_map(|life| life.agent.clone()).collect()
    }
}

impl Life {
    fn new(grace: Duration) -> Life {
        Life { agent: None, connections: 0, processes: 0, last_request: None, round: 0, grace }
    }

    fn is_active(&self, within: Duration) -> bool {
        self.processes > 0 || self.last_request.is_some_and(|at| at.elapsed() < within)
    }
}

impl Mail {
    /// Counts a connection of this session's process until the result is dropped.
    pub fn attach(self: &Arc<Mail>, session: &Session) -> Attachment {
        self.attach_with(session, Presence::Process, self.limits.grace)
    }

    /// Like [`Mail::attach`], with another presence and grace period.
    pub fn attach_with(self: &Arc<Mail>, session: &Session, presence: Presence, grace: Duration) -> Attachment {
        let mut lives = self.sessions.lock_lives();
        let life = lives.entry(session.id.clone()).or_insert_with(|| Life::new(grace));
        life.agent = Some(session.agent.clone());
        life.grace = life.grace.max(grace);
        life.connections += 1;
        life.round += 1;
        match presence {
            Presence::Process => life.processes += 1,
            Presence::Requests => life.last_request = Some(Instant::now()),
            Presence::Command => {}
        }
        drop(lives);
        self.sessions.known.lock().insert(session.agent.clone(), session.fence);
        Attachment { mail: Arc::downgrade(self), session: session.id.clone(), presence }
    }

    /// Ends a session whose process has exited. Its messages in hand are free at once.
    pub async fn end_session(self: &Arc<Mail>, session: &SessionId) {
        self.sessions.lock_lives().remove(session);
        self.release(session.clone(), LeaseSelection::Ended).await;
    }

    /// Frees the messages of a cancelled call: the session never saw its answer.
    pub async fn give_up(self: &Arc<Mail>, session: &SessionId, handed: u64) {
        self.release(session.clone(), LeaseSelection::Call(handed)).await;
    }

    /// Frees the messages in hand of the session, or those of one call, since they were never seen. The session
    /// continues.
    ///
    /// # Errors
    /// When the store cannot do that now. The session must not confirm anything then.
    pub async fn take_back(&self, session: &SessionId, handed: Option<u64>) -> Result<(), MailError> {
        Ok(self.release_once(session, handed.map_or(LeaseSelection::All, LeaseSelection::Call)).await?)
    }

    /// Frees the messages handed to the session after the call that handed out this message: the session saw that
    /// answer and no later one. Without a message, frees all that it had in hand.
    ///
    /// # Errors
    /// As [`Mail::take_back`].
    pub(crate) async fn take_back_after(&self, session: &SessionId, last: Option<&str>) -> Result<(), MailError> {
        let which = last.and_then(|id| MessageId::new(id).ok()).map_or(LeaseSelection::All, LeaseSelection::After);
        Ok(self.release_once(session, which).await?)
    }

    /// Waits for sessions of a former daemon; those that do not come back within the grace period have ended.
    pub(crate) async fn expect_former_sessions(self: &Arc<Mail>) -> Result<(), MailError> {
        for session in self.store.query(query::Leases).await? {
            let round = {
                let mut lives = self.sessions.lock_lives();
                let known = lives.contains_key(&session);
                let grace = self.limits.grace;
                let life = lives.entry(session.clone()).or_insert_with(|| Life::new(grace));
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
                let mut lives = mail.sessions.lock_lives();
                if lives.get(&session).is_none_or(|life| life.connections > 0 || life.round != round) {
                    return;
                }
                lives.remove(&session);
            }
            mail.release(session, LeaseSelection::Ended).await;
        });
    }

    async fn release_once(&self, session: &SessionId, which: LeaseSelection) -> Result<(), StoreError> {
        let released = self.store.change(Release { sessions: vec![session.clone()], which }).await?;
        for (message, agent) in released.dead {
            self.record(|| Record::MailDead { message: message.to_string(), agent: agent.to_string() });
        }
        Ok(())
    }

    /// Frees the messages in hand of the session, or those of one call. Retries an unavailable store until it answers.
    async fn release(self: &Arc<Mail>, session: SessionId, which: LeaseSelection) {
        let mut pause = Duration::from_millis(100);
        loop {
            match self.release_once(&session, which.clone()).await {
                Ok(()) => return,
                Err(
                    error @ (StoreError::Refused(_)
                    | StoreError::Corrupt { .. }
                    | StoreError::Newer { .. }
                    | StoreError::Gone),
                ) => {
                    tracing::error!(%error, "cannot release the messages of an ended session");
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot release the messages of an ended session; trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(10));
                }
            }
            // If the session came back meanwhile, it keeps its messages in hand.
            if which == LeaseSelection::Ended
                && self.sessions.lock_lives().get(&session).is_some_and(|life| life.connections > 0)
            {
                return;
            }
        }
    }
}

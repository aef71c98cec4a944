//! The mail's operations: sending, receiving, waiting, groups, reading back. The service sits between the tools and a
//! [`Store`]. The store holds the state; the service knows the connected sessions and the waiters.
//!
//! Start with [`Mail::open`]; then [`send`] and [`receive`].

pub mod agents;
mod claiming;
#[cfg(test)]
pub(crate) mod fixture;
mod maintenance;
pub mod queries;
mod queue;
pub mod receive;
pub mod reply_throttle;
mod rows;
pub mod send;
mod sessions;
mod store_retry;
pub mod subscribe;
mod user_mailbox;
mod waiters;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::journal::Record;
use tokio::runtime::Handle;

pub(crate) use claiming::token;
pub use sessions::{Attachment, Presence};
pub(crate) use waiters::Ticket;

use crate::error::{MailError, Refusal, StoreError};
use crate::model::{AgentName, Limits, Liveness};
use crate::spool::Spool;
use crate::store::query::Roster;
use crate::store::{Operation, Store, WakeDelivery, query};

/// Pauses before an uncertain change is repeated: the first pause, and the one after which it fails.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// Takes records for the journal.
pub type Journal = Arc<dyn Fn(Record) + Send + Sync>;

/// True if an agent's program is connected, though it may not have used the mail yet.
pub type IsHere = Arc<dyn Fn(&AgentName) -> bool + Send + Sync>;

pub struct MailOptions {
    pub store: Arc<dyn Store>,
    /// The limits of the store.
    pub limits: Limits,
    pub journal: Option<Journal>,
    /// How often waiters poll if wakes may be lost.
    pub poll: Duration,
    /// Holds sends while the store is unavailable. Without a spool, such sends fail.
    pub spool: Option<Arc<Spool>>,
    pub is_here: Option<IsHere>,
}

impl MailOptions {
    /// Options with default limits and no journal.
    pub fn new(store: Arc<dyn Store>) -> MailOptions {
        MailOptions {
            store,
            limits: Limits::default(),
            journal: None,
            poll: Duration::from_secs(5),
            spool: None,
            is_here: None,
        }
    }
}

pub struct Mail {
    store: Arc<dyn Store>,
    limits: Limits,
    journal: Option<Journal>,
    poll: Duration,
    spool: Option<Arc<Spool>>,
    is_here: Option<IsHere>,
    waits: Arc<waiters::Waits>,
    sessions: sessions::Sessions,
    seen: Arc<maintenance::ActiveAgents>,
    pace: reply_throttle::Pace,
    /// True once the person's mailbox is known to exist.
    has_user: AtomicBool,
    runtime: Handle,
}

impl Mail {
    /// Opens the mail. Sessions of a former daemon keep their leases for a grace period; then the messages are free.
    ///
    /// # Errors
    /// When the store is unavailable or broken.
    pub async fn open(options: MailOptions) -> Result<Arc<Mail>, MailError> {
        let mail = Arc::new(Mail {
            store: options.store,
            limits: options.limits,
            journal: options.journal,
            poll: options.poll,
            spool: options.spool,
            is_here: options.is_here,
            waits: Arc::default(),
            sessions: sessions::Sessions::default(),
            seen: Arc::default(),
            pace: reply_throttle::Pace::default(),
            has_user: AtomicBool::default(),
            runtime: Handle::current(),
        });
        mail.listen();
        mail.expect_former_sessions().await?;
        maintenance::start(&mail);
        queue::start(&mail);
        Ok(mail)
    }

    /// Listens for news without keeping the mail alive.
    fn listen(self: &Arc<Mail>) {
        let waits = Arc::clone(&self.waits);
        self.store.on_commit(Arc::new(move |arrivals| waits.on_commit(arrivals)));
        let (waits, weak) = (Arc::clone(&self.waits), Arc::downgrade(self));
        self.store.listen(Arc::new(move |wake| match wake {
            crate::store::Wake::Mail(arrivals) => waits.wake(&arrivals),
            crate::store::Wake::Look => {
                if let Some(mail) = weak.upgrade() {
                    let runtime = mail.runtime.clone();
                    runtime.spawn(async move { mail.look_for_news().await });
                }
            }
        }));
    }

    /// Wakes the waiters whose mailbox has changed since the last poll.
    pub(crate) async fn look_for_news(&self) {
        let agents = self.waits.agents();
        if agents.is_empty() {
            return;
        }
        match self.store.query(query::Versions { agents: agents.clone() }).await {
            Ok(versions) => self.waits.wake_by_versions(&agents, &versions),
            // The next poll tries again.
            Err(error) => tracing::warn!(%error, "cannot look for new mail"),
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns true if the store's wakes may be lost.
    pub(crate) fn may_lose_wakes(&self) -> bool {
        self.store.wake_delivery() == WakeDelivery::BestEffort
    }

    /// Returns the number of waiters that are blocked.
    pub fn waiting(&self) -> usize {
        self.waits.count()
    }

    /// Finishes work in progress and closes the mail. Waiters get nothing more; leases stay, for the next daemon.
    pub async fn close(&self) {
        self.store.close().await;
    }

    /// Applies a change that is safe to repeat, and repeats it while its outcome is uncertain. Once uncertain, only the
    /// store's answer to this change settles it: a later failure to connect does not show whether the change was made.
    pub(crate) async fn retry_uncertain<O: Operation + Clone>(&self, operation: O) -> Result<O::Out, MailError> {
        self.retry_uncertain_or(operation, |_| None).await
    }

    /// Like [`Mail::retry_uncertain`], for a change that is refused once it has been applied. `done` maps such a
    /// refusal to a result.
    pub(crate) async fn retry_uncertain_or<O: Operation + Clone>(
        &self,
        operation: O,
        done: impl Fn(&Refusal) -> Option<O::Out>,
    ) -> Result<O::Out, MailError> {
        let mut pause = FIRST_PAUSE;
        let mut doubt: Option<String> = None;
        loop {
            let error = match (self.store.change(operation.clone()).await, &doubt) {
                (Err(StoreError::Uncertain { reason }), _) => {
                    tracing::warn!(%reason, "the mail store became unavailable during a change; retrying");
                    doubt.insert(reason)
                }
                (Err(StoreError::Refused(refusal)), Some(_)) => {
                    return done(&refusal).ok_or(MailError::Refused(refusal));
                }
                (Err(error), Some(reason)) => {
                    tracing::warn!(%error, "the effect on the mail store is still unknown");
                    reason
                }
                (other, _) => return Ok(other?),
            };
            if pause >= LAST_PAUSE {
                return Err(StoreError::Uncertain { reason: error.clone() }.into());
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    pub(crate) fn record(&self, record: impl FnOnce() -> Record) {
        if let Some(journal) = &self.journal {
            journal(record());
        }
    }

    /// Returns all agents, with their standing. The person is none of them.
    pub(crate) async fn roster(&self) -> Result<Roster, MailError> {
        let mut roster = self.store.query(query::Agents).await?;
        roster.agents.retain(|agent| !agent.name.is_user());
        for agent in &mut roster.agents {
            self.sessions.note_fence(&agent.name, agent.fence);
            agent.standing = self.liveness(&agent.name, roster.now, agent.seen_at);
        }
        Ok(roster)
    }

    /// Returns whether a process of the agent lives: it is connected, or waits. Of an agent that only another daemon
    /// sees, that daemon records it.
    pub(crate) fn liveness(&self, agent: &AgentName, now: u64, seen_at: u64) -> Liveness {
        let is_elsewhere = || {
            let lately = u128::from(now.saturating_sub(seen_at)) < self.limits.active.as_millis();
            lately && self.may_lose_wakes() && !self.sessions.is_known(agent)
        };
        let is_active = self.sessions.is_active(agent, self.limits.active)
            || self.waits.has(agent)
            || self.is_here.as_ref().is_some_and(|is_here| is_here(agent))
            || is_elsewhere();
        if is_active { Liveness::Active } else { Liveness::Offline }
    }
}

//! Mail as its users have it: sending, receiving, waiting, groups, looking back. It sits between the tools and a
//! [`Store`]; the store is the truth, this knows who is connected and who waits.
//!
//! Start with [`Mail::open`]; then [`send`] and [`receive`].

mod claiming;
#[cfg(test)]
pub(crate) mod fixture;
pub mod look;
mod patience;
pub mod people;
mod queue;
pub mod receive;
pub mod send;
mod sessions;
pub mod subscribe;
mod upkeep;
mod waits;

use std::sync::Arc;
use std::time::Duration;

use crate::journal::Record;
use tokio::runtime::Handle;

pub(crate) use claiming::token;
pub use sessions::Attachment;

use crate::error::{MailError, Refusal, StoreError};
use crate::model::{AgentName, Limits};
use crate::spool::Spool;
use crate::store::query::Roster;
use crate::store::{Operation, Store, WakeDelivery, query};

/// How long to let pass before an uncertain change is made again, at first; and when to leave it at that.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// Takes what happens.
pub type Journal = Arc<dyn Fn(Record) + Send + Sync>;

/// Says of an agent whether its program is here, though it may not have used the mail yet.
pub type IsHere = Arc<dyn Fn(&AgentName) -> bool + Send + Sync>;

/// What a mail service is made from.
pub struct MailOptions {
    /// Where everything is.
    pub store: Arc<dyn Store>,
    /// The limits that the store has too.
    pub limits: Limits,
    /// Who hears of what happens.
    pub journal: Option<Journal>,
    /// How often those who wait look by themselves, where a wake may be lost.
    pub poll: Duration,
    /// Where sends wait while the store is away. Without one they are refused then.
    pub spool: Option<Arc<Spool>>,
    /// Who is here without having said anything.
    pub is_here: Option<IsHere>,
}

impl MailOptions {
    /// Default limits, nobody hears of anything.
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

/// The mail of one space.
pub struct Mail {
    store: Arc<dyn Store>,
    limits: Limits,
    journal: Option<Journal>,
    poll: Duration,
    spool: Option<Arc<Spool>>,
    is_here: Option<IsHere>,
    waits: Arc<waits::Waits>,
    sessions: sessions::Sessions,
    seen: Arc<upkeep::Seen>,
    runtime: Handle,
}

impl Mail {
    /// Opens the mail. What sessions of a former life had in hand waits for them for a grace, then it is free.
    ///
    /// # Errors
    /// When the store is away or broken.
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
            runtime: Handle::current(),
        });
        mail.listen();
        mail.expect_former_sessions().await?;
        upkeep::start(&mail);
        queue::start(&mail);
        Ok(mail)
    }

    /// Hears of news, without keeping the mail alive by it.
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

    /// Wakes those in whose mailbox something is new since the last time.
    pub(crate) async fn look_for_news(&self) {
        let agents = self.waits.agents();
        if agents.is_empty() {
            return;
        }
        match self.store.look(query::Versions { agents }).await {
            Ok(versions) => self.waits.wake_by_versions(versions),
            // The next look, or the safety poll, tries again.
            Err(error) => tracing::warn!(%error, "look for new mail"),
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether the store's wakes may be lost.
    pub(crate) fn may_lose_wakes(&self) -> bool {
        self.store.wake_delivery() == WakeDelivery::BestEffort
    }

    /// How many waiters are blocked now.
    pub fn waiting(&self) -> usize {
        self.waits.count()
    }

    /// Finishes what was begun. Waiters get nothing more; leases stay, for the next life.
    pub async fn close(&self) {
        self.store.close().await;
    }

    /// Makes a change that may be made twice: an uncertain one is made again. Once it is uncertain, only the store's own
    /// word on this very change ends that: that the store is away later on says nothing of what it did before.
    pub(crate) async fn retry_uncertain<O: Operation + Clone>(&self, operation: O) -> Result<O::Out, MailError> {
        self.retry_uncertain_or(operation, |_| None).await
    }

    /// The same for a change that is refused where it was made before: `done` says what such a refusal means then.
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
                    tracing::warn!(%reason, "the mail store went away in the middle; doing it again");
                    doubt.insert(reason)
                }
                (Err(StoreError::Refused(refusal)), Some(_)) => {
                    return done(&refusal).ok_or(MailError::Refused(refusal));
                }
                (Err(error), Some(reason)) => {
                    tracing::warn!(%error, "it is still uncertain what the mail store did");
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

    /// All agents, with their standing.
    pub(crate) async fn roster(&self) -> Result<Roster, MailError> {
        let mut roster = self.store.look(query::Agents).await?;
        for agent in &mut roster.agents {
            if self.is_active(&agent.name, roster.now, agent.seen_at) {
                agent.standing = crate::model::Standing::Active;
            }
        }
        Ok(roster)
    }

    /// Whether an agent is there: connected, or seen a little while ago.
    pub(crate) fn is_active(&self, agent: &AgentName, now: u64, seen_at: u64) -> bool {
        let lately = u128::from(now.saturating_sub(seen_at)) < self.limits.active.as_millis();
        lately
            || self.sessions.is_connected(agent)
            || self.seen.is_recent(agent, self.limits.active)
            || self.is_here.as_ref().is_some_and(|is_here| is_here(agent))
    }
}

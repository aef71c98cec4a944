//! The store: one trait, and what every engine behind it promises.
//!
//! A store holds one space. Everything that changes it is a [`Change`], everything that looks is a [`Query`]; both are
//! closed lists, so an engine is two `match`es, and faults can be put in front of any engine in one place.
//!
//! What holds, whatever the engine (the contract suite in `crates/mail/tests` checks each on all of them):
//!
//! 1. A change is atomic. When it returns, an append, a settlement or anything about groups and names is on disk.
//!    Leases and confirmations may lag behind in a crash of the machine: then a message is handed out once more, since
//!    the session it was handed to has died with the machine.
//! 2. Recipients are settled and frozen in the appending transaction. Appending the same id again, or the same key with
//!    the same content, gives the first result again.
//! 3. A mailbox's sequence numbers become visible in order: who has seen n will find nothing new at or below n.
//! 4. Queries have no effect.
//! 5. Delivery states only move forward; doing something twice is doing it once.
//! 6. A waiting message is leased to at most one session.
//! 7. Whoever listens hears of everything after it is visible. A wake may come twice, late or for nothing.
//! 8. One clock, the store's, gives all times; no time orders anything.
//! 9. What a limit refuses changes nothing.

pub mod change;
pub mod commit_hook;
pub mod memory;
mod message;
pub mod postgres;
pub mod query;
pub(crate) mod rules;
pub mod sqlite;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use change::{Change, Changed, Operation};
pub use commit_hook::{CommitHook, InTransaction};
pub use query::{Found, Lookup, Query};

use crate::error::StoreError;
use crate::model::{AgentName, Priority};

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Called when there may be something new.
pub type WakeListener = Arc<dyn Fn(Wake) + Send + Sync>;

/// Holds the agents, groups, messages and deliveries of one space. See the module for what it promises.
pub trait Store: Send + Sync + 'static {
    /// Makes a change.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when it is not allowed; nothing has changed then. [`StoreError::Uncertain`] when the
    /// store went away in the middle: doing it again is safe. Everything else: it did not happen.
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>>;

    /// Looks something up.
    ///
    /// # Errors
    /// When the store is away or broken.
    fn read(&self, query: Query) -> BoxFuture<'_, Result<Found, StoreError>>;

    /// Sets who hears of news, in place of whoever did before.
    fn listen(&self, ear: WakeListener);

    /// Sets who is asked what to do along with changes that bring news, in place of whoever was before. A store may leave
    /// it out: those who wait are woken all the same, and ask then.
    fn on_commit(&self, _companions: CommitHook) {}

    /// How sure wakes are.
    fn wake_delivery(&self) -> WakeDelivery;

    /// Finishes what was begun and lets go of everything. Later calls fail.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// How a store's wakes arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeDelivery {
    /// From the same process: none is lost, nobody else writes.
    Reliable,
    /// Over a network: one may be lost, so waiters look now and then.
    BestEffort,
}

/// There may be something new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// In these mailboxes.
    Mail(Vec<Arrival>),
    /// Somewhere: look at the tips of those you wait for.
    Look,
}

/// Something new in a mailbox: a message, or one that was leased and is free again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Whose mailbox.
    pub agent: AgentName,
    /// The most urgent of what is new.
    pub priority: Priority,
}

impl dyn Store {
    /// Makes a change and gives its own result.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn change<O: Operation>(&self, operation: O) -> Result<O::Out, StoreError> {
        let changed = self.write(operation.into_change()).await?;
        Ok(O::out(changed).expect("a change answers with its own result"))
    }

    /// Looks something up and gives its own result.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub async fn look<L: Lookup>(&self, lookup: L) -> Result<L::Out, StoreError> {
        let found = self.read(lookup.into_query()).await?;
        Ok(L::out(found).expect("a query answers with its own result"))
    }
}

//! The store: one trait, and the promises of every engine behind it.
//!
//! A store holds one space. A [`Change`] changes it, a [`Query`] reads it; both are closed lists, so that tests can
//! inject faults into any engine in one place. `rules` defines the effect of a change; an engine stores rows.
//!
//! Every engine keeps these promises; the contract suite in `crates/mail/tests` checks each promise on every engine:
//!
//! 1. A change is atomic. When an append, a settlement or a change of groups and names returns, it is on disk. Leases
//!    and confirmations may be lost in a crash of the machine: the message is then handed out once more, since the
//!    session that had it died with the machine.
//! 2. Recipients are settled and frozen in the appending transaction. Appending the same id again, or the same key with
//!    the same content, gives the first result again.
//! 3. A mailbox's sequence numbers become visible in order: a reader that has seen n finds nothing new at or below n.
//! 4. Queries have no effect.
//! 5. Delivery states only move forward, and every operation is idempotent.
//! 6. A waiting message is leased to at most one session.
//! 7. A listener is notified of every change after it is visible. A wake may come twice, late or without news.
//! 8. One clock, the store's, gives all times; no time orders anything.
//! 9. A change that exceeds a limit changes nothing.

pub mod change;
pub mod commit_hook;
pub mod memory;
mod message;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod query;
pub(crate) mod rules;
pub mod sqlite;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use change::{Change, Changed, Operation};
pub use commit_hook::{CommitHook, InTransaction};
pub use query::{Lookup, Query, QueryResult};

use crate::error::StoreError;
use crate::model::{AgentName, Priority};

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Called when there may be news.
pub type WakeListener = Arc<dyn Fn(Wake) + Send + Sync>;

/// The agents, groups, messages and deliveries of one space. The module lists the promises.
pub trait Store: Send + Sync + 'static {
    /// Applies a change.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when the change is not allowed; nothing has changed then. [`StoreError::Uncertain`] when
    /// the store became unavailable midway; repeating the change is safe. With every other error, the change did not
    /// happen.
    /// happen.
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>>;

    /// Runs a query.
    ///
    /// # Errors
    /// When the store is unavailable or broken.
    fn read(&self, query: Query) -> BoxFuture<'_, Result<QueryResult, StoreError>>;

    /// Sets the listener, replacing the former one.
    fn listen(&self, ear: WakeListener);

    /// Sets the commit hook, replacing the former one. A store may ignore the hook; waiters are then woken and ask.
    fn on_commit(&self, _companions: CommitHook) {}

    fn wake_delivery(&self) -> WakeDelivery;

    /// Finishes work in progress and closes the store. Later calls fail.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// How a store's wakes arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeDelivery {
    /// From this process, which is the only writer: no wake is lost.
    Reliable,
    /// Over a network: a wake may be lost, so waiters poll.
    BestEffort,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    Mail(Vec<Arrival>),
    /// Any mailbox: compare the versions of those that have waiters.
    Look,
}

/// A new message in a mailbox, or one whose lease ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    pub agent: AgentName,
    /// The highest priority among the news.
    pub priority: Priority,
}

impl dyn Store {
    /// Applies a change, with the answer in its own type.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn change<O: Operation>(&self, operation: O) -> Result<O::Out, StoreError> {
        let changed = self.write(operation.into_change()).await?;
        Ok(O::unwrap_answer(changed).expect("a change answers with its own result"))
    }

    /// Runs a query, with the answer in its own type.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub async fn query<L: Lookup>(&self, lookup: L) -> Result<L::Out, StoreError> {
        let found = self.read(lookup.into_query()).await?;
        Ok(L::unwrap_answer(found).expect("a query answers with its own result"))
    }
}

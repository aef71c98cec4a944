//! What waiters have done in the transaction that brings their news: one commit and one sync are then enough for a
//! message to be stored and handed out.

use std::sync::Arc;

use super::change::{Change, Changed, Operation};
use super::query::{Found, Lookup, Query};
use super::{Arrival, WakeListener};
use crate::error::Refusal;

/// Called in each transaction that brings news: gives what waiters want done in it. Must not block.
pub type CommitHook = Arc<dyn Fn(&[Arrival]) -> Vec<InTransaction> + Send + Sync>;

#[derive(Clone, Default)]
pub(crate) struct Listeners {
    pub(crate) wake: Option<WakeListener>,
    pub(crate) commit: Option<CommitHook>,
}

/// A change or a query to be done in a transaction. When its callback is dropped uncalled, it was not done.
pub struct InTransaction(Kind);

enum Kind {
    /// The change brings no news itself.
    Change(Box<Change>, Told<Result<Changed, Refusal>>),
    /// The query sees the news.
    Query(Box<Query>, Told<Found>),
}

/// Called with the answer after the commit. Must not block.
type Told<T> = Box<dyn FnOnce(T) + Send>;

/// Tells the answer of what was done in a transaction, once it is committed.
pub(crate) type AfterCommit = Box<dyn FnOnce() + Send>;

impl InTransaction {
    /// The change must bring no news.
    pub fn change<O: Operation>(
        operation: O,
        told: impl FnOnce(Result<O::Out, Refusal>) + Send + 'static,
    ) -> InTransaction {
        let out = |changed| O::out(changed).expect("a change answers with its own result");
        InTransaction(Kind::Change(Box::new(operation.into_change()), Box::new(move |result| told(result.map(out)))))
    }

    /// The query sees the news.
    pub fn query<L: Lookup>(lookup: L, told: impl FnOnce(L::Out) + Send + 'static) -> InTransaction {
        let out = |found| L::out(found).expect("a query answers with its own result");
        InTransaction(Kind::Query(Box::new(lookup.into_query()), Box::new(move |found| told(out(found)))))
    }

    /// Runs the change or the query, by the engine's functions for them.
    pub(crate) fn run<E>(
        self,
        change: impl FnOnce(Change) -> Result<Result<Changed, Refusal>, E>,
        query: impl FnOnce(Query) -> Result<Found, E>,
    ) -> Result<AfterCommit, E> {
        Ok(match self.0 {
            Kind::Change(asked, told) => {
                let result = change(*asked)?;
                Box::new(move || told(result))
            }
            Kind::Query(asked, told) => {
                let found = query(*asked)?;
                Box::new(move || told(found))
            }
        })
    }
}

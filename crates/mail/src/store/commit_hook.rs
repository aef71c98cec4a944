//! Requests of waiters for the transaction that brings their news. One commit and one sync then store a message and
//! hand it out.

use std::sync::Arc;

use super::change::{Change, Changed, Operation};
use super::query::{Lookup, Query, QueryResult};
use super::{Arrival, WakeListener};
use crate::error::Refusal;

/// Called in each transaction that brings news. Returns the requests of waiters for it. Must not block.
pub type CommitHook = Arc<dyn Fn(&[Arrival]) -> Vec<InTransaction> + Send + Sync>;

#[derive(Clone, Default)]
pub(crate) struct Listeners {
    pub(crate) wake: Option<WakeListener>,
    pub(crate) commit: Option<CommitHook>,
}

/// A change or a query for a running transaction. If its callback is dropped uncalled, it was not done.
pub struct InTransaction(Kind);

enum Kind {
    /// The change must bring no news.
    Change(Box<Change>, Callback<Result<Changed, Refusal>>),
    /// The query sees the news.
    Query(Box<Query>, Callback<QueryResult>),
}

/// Called with the answer after the commit. Must not block.
type Callback<T> = Box<dyn FnOnce(T) + Send>;

/// Passes on an answer once the transaction is committed.
pub(crate) type AfterCommit = Box<dyn FnOnce() + Send>;

impl InTransaction {
    /// Creates a change, which must bring no news.
    pub fn change<O: Operation>(
        operation: O,
        told: impl FnOnce(Result<O::Out, Refusal>) + Send + 'static,
    ) -> InTransaction {
        let out = |changed| O::unwrap_answer(changed).expect("a change answers with its own result");
        InTransaction(Kind::Change(Box::new(operation.into_change()), Box::new(move |result| told(result.map(out)))))
    }

    /// Creates a query, which sees the news.
    pub fn query<L: Lookup>(lookup: L, told: impl FnOnce(L::Out) + Send + 'static) -> InTransaction {
        let out = |found| L::unwrap_answer(found).expect("a query answers with its own result");
        InTransaction(Kind::Query(Box::new(lookup.into_query()), Box::new(move |found| told(out(found)))))
    }

    /// Runs the change or the query with the engine's functions.
    pub(crate) fn run<E>(
        self,
        change: impl FnOnce(Change) -> Result<Result<Changed, Refusal>, E>,
        query: impl FnOnce(Query) -> Result<QueryResult, E>,
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

//! What those who wait have done along with the change that brings them news: in its transaction, so that one commit and
//! one sync are enough for a message to be stored and handed out.

use std::sync::Arc;

use super::change::{Change, Changed, Operation};
use super::query::{Found, Lookup, Query};
use super::{Arrival, WakeListener};
use crate::error::Refusal;

/// Asked, for each transaction that brings news, who would have something done along with it. Must not block.
pub type CommitHook = Arc<dyn Fn(&[Arrival]) -> Vec<InTransaction> + Send + Sync>;

/// Who hears of news.
#[derive(Clone, Default)]
pub(crate) struct Listeners {
    pub(crate) wake: Option<WakeListener>,
    pub(crate) commit: Option<CommitHook>,
}

/// Something done along. Dropped untold, it was not done.
pub struct InTransaction(Kind);

enum Kind {
    /// A change. It brings no news itself.
    Change(Box<Change>, Told<Result<Changed, Refusal>>),
    /// A look, which sees the news.
    Query(Box<Query>, Told<Found>),
}

/// Hears what came of it, when it is committed. Must not block.
type Told<T> = Box<dyn FnOnce(T) + Send>;

/// Something that was done along, to be told when it is committed.
pub(crate) type AfterCommit = Box<dyn FnOnce() + Send>;

impl InTransaction {
    /// A change that brings no news.
    pub fn change<O: Operation>(
        operation: O,
        told: impl FnOnce(Result<O::Out, Refusal>) + Send + 'static,
    ) -> InTransaction {
        let out = |changed| O::out(changed).expect("a change answers with its own result");
        InTransaction(Kind::Change(Box::new(operation.into_change()), Box::new(move |result| told(result.map(out)))))
    }

    /// A look, which sees the news.
    pub fn query<L: Lookup>(lookup: L, told: impl FnOnce(L::Out) + Send + 'static) -> InTransaction {
        let out = |found| L::out(found).expect("a query answers with its own result");
        InTransaction(Kind::Query(Box::new(lookup.into_query()), Box::new(move |found| told(out(found)))))
    }

    /// Does it, by what changes and what looks.
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

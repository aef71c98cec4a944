//! A store in memory, for tests. Nothing outlives it.

mod deliver;
mod queries;
mod rows;

use parking_lot::{Mutex, MutexGuard};
use std::cell::RefCell;
use std::convert::Infallible;

use super::change::{Change, Changed};
use super::commit_hook::{AfterCommit, Listeners};
use super::query::{Query, QueryResult};
use super::{Arrival, BoxFuture, CommitHook, InTransaction, Store, Wake, WakeDelivery, WakeListener, rules};
use crate::error::StoreError;
use crate::model::{Clock, Limits};
use rows::Rows;

pub struct MemoryStore {
    rows: Mutex<Rows>,
    listeners: Mutex<Listeners>,
}

impl MemoryStore {
    pub fn new(clock: Clock, limits: Limits) -> MemoryStore {
        MemoryStore { rows: Mutex::new(Rows::new(clock, limits)), listeners: Mutex::default() }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        // A panic could leave rows inconsistent only after the first change, and all checks come before it.
        self.rows.lock()
    }

    /// Runs the requests of the commit hook.
    fn run_hook(&self, rows: &mut Rows, arrivals: &[Arrival]) -> Vec<AfterCommit> {
        let Some(hook) = self.listeners().commit.filter(|_| !arrivals.is_empty()) else { return Vec::new() };
        let make = |rows: &mut Rows, work: InTransaction| -> Result<AfterCommit, Infallible> {
            let rows = RefCell::new(rows);
            work.run(
                |change| Ok(rules::at_once(rules::apply(*rows.borrow_mut(), &change))),
                |query| Ok(queries::answer(&rows.borrow(), query)),
            )
        };
        hook(arrivals).into_iter().flat_map(|along| make(rows, along)).collect()
    }

    fn listeners(&self) -> Listeners {
        self.listeners.lock().clone()
    }

    fn wake(&self, arrivals: Vec<Arrival>) {
        if arrivals.is_empty() {
            return;
        }
        if let Some(listener) = self.listeners().wake {
            listener(Wake::Mail(arrivals));
        }
    }
}

impl Store for MemoryStore {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        let (result, arrivals, done) = {
            let mut rows = self.rows();
            let result = rules::at_once(rules::apply(&mut *rows, &change));
            let arrivals = std::mem::take(&mut rows.arrivals);
            let done = self.run_hook(&mut rows, &arrivals);
            (result, arrivals, done)
        };
        done.into_iter().for_each(|tell| tell());
        self.wake(arrivals);
        Box::pin(std::future::ready(result.map_err(StoreError::Refused)))
    }

    fn read(&self, query: Query) -> BoxFuture<'_, Result<QueryResult, StoreError>> {
        let found = queries::answer(&self.rows(), query);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn listen(&self, listener: WakeListener) {
        self.listeners.lock().wake = Some(listener);
    }

    fn on_commit(&self, hook: CommitHook) {
        self.listeners.lock().commit = Some(hook);
    }

    fn wake_delivery(&self) -> WakeDelivery {
        WakeDelivery::Reliable
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

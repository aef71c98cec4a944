//! A store in memory, for tests and as the plainest statement of what a store does. Nothing outlives it.

mod deliver;
mod look;
mod rows;

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::along::{Done, Listeners};
use super::change::{Change, Changed};
use super::query::{Found, Query};
use super::{Along, Arrival, BoxFuture, Companions, Ear, News, Store, Wake};
use crate::error::{Refusal, StoreError};
use crate::model::{Clock, Limits};
use rows::Rows;

/// All of a space, in memory.
pub struct MemoryStore {
    rows: Mutex<Rows>,
    listeners: Mutex<Listeners>,
}

impl MemoryStore {
    /// An empty one.
    pub fn new(clock: Clock, limits: Limits) -> MemoryStore {
        MemoryStore { rows: Mutex::new(Rows::new(clock, limits)), listeners: Mutex::default() }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        // A panic half-way could leave rows inconsistent, but checks come before the first change.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what those who wait for it want done along.
    fn make_along(&self, rows: &mut Rows, arrivals: &[Arrival]) -> Vec<Done> {
        let Some(companions) = self.listeners().companions.filter(|_| !arrivals.is_empty()) else { return Vec::new() };
        let make = |rows: &mut Rows, along: Along| -> Result<Done, Infallible> {
            let rows = RefCell::new(rows);
            along.make(
                |change| Ok(apply(&mut rows.borrow_mut(), change)),
                |query| Ok(look::answer(&rows.borrow(), query)),
            )
        };
        companions(arrivals).into_iter().flat_map(|along| make(rows, along)).collect()
    }

    fn listeners(&self) -> Listeners {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn wake(&self, arrivals: Vec<Arrival>) {
        if arrivals.is_empty() {
            return;
        }
        if let Some(ear) = self.listeners().ear {
            ear(Wake::Mail(arrivals));
        }
    }
}

impl Store for MemoryStore {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        let (result, arrivals, done) = {
            let mut rows = self.rows();
            let result = apply(&mut rows, change);
            let arrivals = std::mem::take(&mut rows.arrivals);
            let done = self.make_along(&mut rows, &arrivals);
            (result, arrivals, done)
        };
        done.into_iter().for_each(|tell| tell());
        self.wake(arrivals);
        Box::pin(std::future::ready(result.map_err(StoreError::Refused)))
    }

    fn read(&self, query: Query) -> BoxFuture<'_, Result<Found, StoreError>> {
        let found = look::answer(&self.rows(), query);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn listen(&self, ear: Ear) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).ear = Some(ear);
    }

    fn accompany(&self, companions: Companions) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).companions = Some(companions);
    }

    fn news(&self) -> News {
        News::Sure
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[allow(clippy::unit_arg)]
fn apply(rows: &mut Rows, change: Change) -> Result<Changed, Refusal> {
    Ok(match change {
        Change::Enter(it) => Changed::Enter(rows.enter(&it)?),
        Change::Touch(it) => Changed::Touch(rows.touch(&it)),
        Change::Append(it) => Changed::Append(rows.append(&it)?),
        Change::Claim(it) => Changed::Claim(rows.claim(&it)?),
        Change::Confirm(it) => Changed::Confirm(rows.confirm(&it.session, &[], None)?),
        Change::Settle(it) => Changed::Settle(rows.settle(&it)?),
        Change::Release(it) => Changed::Release(rows.release(&it)),
        Change::HandBack(it) => Changed::HandBack(rows.hand_back(&it)),
        Change::CreateGroup(it) => Changed::CreateGroup(rows.create_group(&it)?),
        Change::DeleteGroup(it) => Changed::DeleteGroup(rows.delete_group(&it)?),
        Change::AddMember(it) => Changed::AddMember(rows.add_member(&it)?),
        Change::RemoveMember(it) => Changed::RemoveMember(rows.remove_member(&it)?),
        Change::BeginHint(it) => Changed::BeginHint(rows.begin_hint(&it)),
        Change::EndHint(it) => Changed::EndHint(rows.end_hint(&it)),
        Change::Purge(it) => Changed::Purge(rows.purge(&it)),
        Change::Import(it) => Changed::Import(rows.import(&it)?),
    })
}

//! Who waits for mail, and waking them. A wake is only a hint: the waiter looks into the store, and whoever registers
//! before looking misses nothing.
//!
//! A waiter may leave what it would do first when woken, an action. The store does it along with the change that brings
//! the news, or else whoever wakes begins it on the spot: that saves the way to the waiter and back.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use tokio::sync::Notify;

use crate::error::Refusal;
use crate::model::{AgentName, Floor};
use crate::store::{Arrival, InTransaction};

/// Waiters that one daemon bears.
const MOST: usize = 20_000;
/// Errands that are done along with one transaction: whoever made it waits for them. The others are begun after it.
const IN_TRANSACTION: usize = 32;

/// All waiters.
#[derive(Default)]
pub(crate) struct Waits(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    count: usize,
    by_agent: HashMap<AgentName, Mailbox>,
}

#[derive(Default)]
struct Mailbox {
    /// What the store said last of what is new; only compared.
    version: Option<u64>,
    waiters: Vec<Waiter>,
}

struct Waiter {
    number: u64,
    floor: Floor,
    bell: Arc<Notify>,
    on_wake: Option<Box<dyn OnWake>>,
}

/// What a waiter would do first when it is woken. It tells the waiter by itself what came of it.
pub(crate) trait OnWake: Send {
    /// To be done along with what brings the news.
    fn in_transaction(self: Box<Self>) -> InTransaction;
    /// Begins it, after the news. Must not block.
    fn begin(self: Box<Self>);
}

impl Waiter {
    /// Rings, unless there is an action: that tells by itself.
    fn wake(&mut self, actions: &mut Vec<Box<dyn OnWake>>) {
        match self.on_wake.take() {
            Some(on_wake) => actions.push(on_wake),
            None => self.bell.notify_one(),
        }
    }
}

/// A registered waiter. Dropping it ends the registration.
pub(crate) struct Ticket {
    waits: Arc<Waits>,
    agent: AgentName,
    number: u64,
    bell: Arc<Notify>,
}

impl Ticket {
    /// Returns when there may be something new since the last return. Cancel safe: a wake not taken stays.
    pub(crate) async fn woken(&self) {
        self.bell.notified().await;
    }

    /// Forgets a wake: whoever looks now sees what it was for.
    pub(crate) fn forget(&self) {
        let _ = pin!(self.bell.notified()).poll(&mut Context::from_waker(Waker::noop()));
    }

    /// Leaves an action for the next wake, which then rings no bell.
    pub(crate) fn set_on_wake(&self, on_wake: impl OnWake + 'static) {
        self.with(|waiter| waiter.on_wake = Some(Box::new(on_wake)));
    }

    /// Takes the action back. False: it has been begun.
    pub(crate) fn take_on_wake(&self) -> bool {
        self.with(|waiter| waiter.on_wake.take()).flatten().is_some()
    }

    fn with<T>(&self, change: impl FnOnce(&mut Waiter) -> T) -> Option<T> {
        let mut state = self.waits.state();
        let mailbox = state.by_agent.get_mut(&self.agent)?;
        mailbox.waiters.iter_mut().find(|waiter| waiter.number == self.number).map(change)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.waits.state();
        let Some(mailbox) = state.by_agent.get_mut(&self.agent) else { return };
        mailbox.waiters.retain(|waiter| waiter.number != self.number);
        if mailbox.waiters.is_empty() {
            state.by_agent.remove(&self.agent);
        }
        state.count -= 1;
    }
}

impl Waits {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a waiter for mail of at least that urgency.
    pub(crate) fn register(self: &Arc<Waits>, agent: &AgentName, floor: Floor) -> Result<Ticket, Refusal> {
        let mut state = self.state();
        if state.count >= MOST {
            return Err(Refusal::TooMany { what: "waiters", limit: MOST as u64 });
        }
        state.next += 1;
        state.count += 1;
        let (number, bell) = (state.next, Arc::new(Notify::new()));
        let mailbox = state.by_agent.entry(agent.clone()).or_default();
        mailbox.waiters.push(Waiter { number, floor, bell: Arc::clone(&bell), on_wake: None });
        Ok(Ticket { waits: Arc::clone(self), agent: agent.clone(), number, bell })
    }

    /// What those whom arrivals concern want done along with them. They are rung by [`Waits::wake`] all the same.
    pub(crate) fn on_commit(&self, arrivals: &[Arrival]) -> Vec<InTransaction> {
        let (mut state, mut actions) = (self.state(), Vec::new());
        for arrival in arrivals {
            let Some(mailbox) = state.by_agent.get_mut(&arrival.agent) else { continue };
            let concerned = mailbox.waiters.iter_mut().filter(|waiter| waiter.floor.passes(arrival.priority));
            let room = IN_TRANSACTION - actions.len();
            actions.extend(concerned.filter_map(|waiter| waiter.on_wake.take()).take(room));
        }
        drop(state);
        actions.into_iter().map(|on_wake| on_wake.in_transaction()).collect()
    }

    /// Wakes those whom arrivals concern. Of several who wait for one mailbox all look, and the store gives each
    /// message to one of them.
    pub(crate) fn wake(&self, arrivals: &[Arrival]) {
        let (mut state, mut actions) = (self.state(), Vec::new());
        for arrival in arrivals {
            let Some(mailbox) = state.by_agent.get_mut(&arrival.agent) else { continue };
            for waiter in mailbox.waiters.iter_mut().filter(|waiter| waiter.floor.passes(arrival.priority)) {
                waiter.wake(&mut actions);
            }
        }
        drop(state);
        actions.into_iter().for_each(|on_wake| on_wake.begin());
    }

    /// Wakes those whose mailbox has another tip than last time, or has none on record.
    pub(crate) fn wake_by_versions(&self, versions: BTreeMap<AgentName, u64>) {
        let (mut state, mut actions) = (self.state(), Vec::new());
        for (agent, version) in versions {
            let Some(mailbox) = state.by_agent.get_mut(&agent) else { continue };
            if mailbox.version != Some(version) {
                mailbox.version = Some(version);
                mailbox.waiters.iter_mut().for_each(|waiter| waiter.wake(&mut actions));
            }
        }
        drop(state);
        actions.into_iter().for_each(|on_wake| on_wake.begin());
    }

    /// Those for whom somebody waits.
    pub(crate) fn agents(&self) -> Vec<AgentName> {
        self.state().by_agent.keys().cloned().collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.state().count
    }
}

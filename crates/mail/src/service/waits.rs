//! Who waits for mail, and waking them. A wake is only a hint: the waiter looks into the store, and whoever registers
//! before looking misses nothing.
//!
//! A waiter may leave what it would do first when woken, an errand: it is then begun by whoever wakes, on the spot, which
//! saves the way to the waiter and back.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::error::Refusal;
use crate::model::{AgentName, Floor};
use crate::store::Arrival;

/// Waiters that one daemon bears.
const MOST: usize = 20_000;

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
    tip: Option<u64>,
    waiters: Vec<Waiter>,
}

struct Waiter {
    number: u64,
    floor: Floor,
    bell: Arc<Notify>,
    errand: Option<Errand>,
}

/// What a waiter would do first when it is woken. It must not block.
pub(crate) type Errand = Box<dyn FnOnce() + Send>;

impl Waiter {
    /// Rings, unless there is an errand: that tells by itself.
    fn wake(&mut self, errands: &mut Vec<Errand>) {
        match self.errand.take() {
            Some(errand) => errands.push(errand),
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

    /// Leaves an errand for the next wake, which then rings no bell.
    pub(crate) fn leave(&self, errand: Errand) {
        self.with(|waiter| waiter.errand = Some(errand));
    }

    /// Takes the errand back. False: it has been begun.
    pub(crate) fn take_back(&self) -> bool {
        self.with(|waiter| waiter.errand.take()).flatten().is_some()
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
        mailbox.waiters.push(Waiter { number, floor, bell: Arc::clone(&bell), errand: None });
        Ok(Ticket { waits: Arc::clone(self), agent: agent.clone(), number, bell })
    }

    /// Wakes those whom arrivals concern. Of several who wait for one mailbox all look, and the store gives each
    /// message to one of them.
    pub(crate) fn wake(&self, arrivals: &[Arrival]) {
        let (mut state, mut errands) = (self.state(), Vec::new());
        for arrival in arrivals {
            let Some(mailbox) = state.by_agent.get_mut(&arrival.agent) else { continue };
            for waiter in mailbox.waiters.iter_mut().filter(|waiter| waiter.floor.passes(arrival.priority)) {
                waiter.wake(&mut errands);
            }
        }
        drop(state);
        errands.into_iter().for_each(|errand| errand());
    }

    /// Wakes those whose mailbox has another tip than last time, or has none on record.
    pub(crate) fn wake_by_tips(&self, tips: BTreeMap<AgentName, u64>) {
        let (mut state, mut errands) = (self.state(), Vec::new());
        for (agent, tip) in tips {
            let Some(mailbox) = state.by_agent.get_mut(&agent) else { continue };
            if mailbox.tip != Some(tip) {
                mailbox.tip = Some(tip);
                mailbox.waiters.iter_mut().for_each(|waiter| waiter.wake(&mut errands));
            }
        }
        drop(state);
        errands.into_iter().for_each(|errand| errand());
    }

    /// Those for whom somebody waits.
    pub(crate) fn agents(&self) -> Vec<AgentName> {
        self.state().by_agent.keys().cloned().collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.state().count
    }
}

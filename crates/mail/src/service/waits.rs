//! Who waits for mail, and waking them. A wake is only a hint: the waiter looks into the store, and whoever registers
//! before looking misses nothing.
//!
//! A waiter may leave what it would do first when woken, an errand. The store does it along with the change that brings
//! the news, or else whoever wakes begins it on the spot: that saves the way to the waiter and back.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use tokio::sync::Notify;

use crate::error::Refusal;
use crate::model::{AgentName, Floor};
use crate::store::{Along, Arrival};

/// Waiters that one daemon bears.
const MOST: usize = 20_000;
/// Errands that are done along with one transaction: whoever made it waits for them. The others are begun after it.
const ALONG: usize = 32;

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
    errand: Option<Box<dyn Errand>>,
}

/// What a waiter would do first when it is woken. It tells the waiter by itself what came of it.
pub(crate) trait Errand: Send {
    /// To be done along with what brings the news.
    fn along(self: Box<Self>) -> Along;
    /// Begins it, after the news. Must not block.
    fn begin(self: Box<Self>);
}

impl Waiter {
    /// Rings, unless there is an errand: that tells by itself.
    fn wake(&mut self, errands: &mut Vec<Box<dyn Errand>>) {
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

    /// Forgets a wake: whoever looks now sees what it was for.
    pub(crate) fn forget(&self) {
        let _ = pin!(self.bell.notified()).poll(&mut Context::from_waker(Waker::noop()));
    }

    /// Leaves an errand for the next wake, which then rings no bell.
    pub(crate) fn leave(&self, errand: impl Errand + 'static) {
        self.with(|waiter| waiter.errand = Some(Box::new(errand)));
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

    /// What those whom arrivals concern want done along with them. They are rung by [`Waits::wake`] all the same.
    pub(crate) fn along(&self, arrivals: &[Arrival]) -> Vec<Along> {
        let (mut state, mut errands) = (self.state(), Vec::new());
        for arrival in arrivals {
            let Some(mailbox) = state.by_agent.get_mut(&arrival.agent) else { continue };
            let concerned = mailbox.waiters.iter_mut().filter(|waiter| waiter.floor.passes(arrival.priority));
            let room = ALONG - errands.len();
            errands.extend(concerned.filter_map(|waiter| waiter.errand.take()).take(room));
        }
        drop(state);
        errands.into_iter().map(|errand| errand.along()).collect()
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
        errands.into_iter().for_each(|errand| errand.begin());
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
        errands.into_iter().for_each(|errand| errand.begin());
    }

    /// Those for whom somebody waits.
    pub(crate) fn agents(&self) -> Vec<AgentName> {
        self.state().by_agent.keys().cloned().collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.state().count
    }
}

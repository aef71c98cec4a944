//! Waiters, and waking them. A wake is only a hint: the waiter then reads the store. A waiter that registers before it
//! reads misses nothing.
//!
//! A waiter may leave an [`OnWake`], its first step after a wake. The store takes that step in the transaction that
//! brings the news, or the waking thread begins it. Either saves a round trip to the waiter.
//!
//! A client that drops a wait does not report it, so a session's newer wait ends its older ones. Waits that begin at
//! about the same time all stay: a client sends parallel calls together, and takes longer for its next turn.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::Refusal;
use crate::model::{AgentName, Floor, Session, SessionId};
use crate::store::{Arrival, InTransaction};

/// The maximum number of waiters of a daemon.
const MOST: usize = 20_000;
/// Waits of a session that begin within this time are parallel calls.
const PARALLEL: Duration = Duration::from_secs(3);
/// The most first steps in one transaction, since its caller waits for them. The others begin after it.
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
    /// The last known version of the mailbox.
    version: Option<u64>,
    waiters: Vec<Waiter>,
}

struct Waiter {
    number: u64,
    floor: Floor,
    purpose: Purpose,
    since: Instant,
    is_superseded: Arc<AtomicBool>,
    bell: Arc<Notify>,
    on_wake: Option<Box<dyn OnWake>>,
}

/// The purpose of a waiter.
#[derive(PartialEq, Eq)]
enum Purpose {
    /// The session is handed the messages.
    Receive(SessionId),
    /// A caller looks at the messages.
    Look,
    /// The daemon notes arrivals; no agent waits.
    Note,
}

/// A waiter's first step after a wake. The step reports its outcome to the waiter itself.
pub(crate) trait OnWake: Send {
    /// Returns the step as part of the transaction that brings the news.
    fn in_transaction(self: Box<Self>) -> InTransaction;
    /// Begins the step after the news. Must not block.
    fn begin(self: Box<Self>);
}

impl Waiter {
    /// Rings the bell, unless there is a first step, which reports to the waiter itself.
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
    is_superseded: Arc<AtomicBool>,
    bell: Arc<Notify>,
}

impl Ticket {
    /// Returns true if a newer wait of the session ended this one.
    pub(crate) fn is_superseded(&self) -> bool {
        self.is_superseded.load(Ordering::Relaxed)
    }

    /// Returns when there may be news since the last return. Cancel safe: a wake that was not consumed stays.
    pub(crate) async fn woken(&self) {
        self.bell.notified().await;
    }

    /// Returns true if there may be news since this was asked last.
    pub(crate) fn was_rung(&self) -> bool {
        pin!(self.bell.notified()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Discards a wake: the next read sees its news anyway.
    pub(crate) fn forget(&self) {
        let _ = pin!(self.bell.notified()).poll(&mut Context::from_waker(Waker::noop()));
    }

    /// Sets the first step after the next wake; that wake then rings no bell.
    pub(crate) fn set_on_wake(&self, on_wake: impl OnWake + 'static) {
        self.with(|waiter| waiter.on_wake = Some(Box::new(on_wake)));
    }

    /// Removes the first step. False if it has begun.
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
        self.0.lock()
    }

    /// Registers a waiter that only looks.
    pub(crate) fn register(self: &Arc<Waits>, agent: &AgentName, floor: Floor) -> Result<Ticket, Refusal> {
        self.add(agent, Purpose::Look, floor)
    }

    /// Registers a bell of the daemon, which makes no agent active.
    pub(crate) fn register_bell(self: &Arc<Waits>, agent: &AgentName) -> Result<Ticket, Refusal> {
        self.add(agent, Purpose::Note, Floor::All)
    }

    /// Registers a waiter that is handed messages, and ends the session's older waits.
    pub(crate) fn register_session(self: &Arc<Waits>, session: &Session, floor: Floor) -> Result<Ticket, Refusal> {
        let ticket = self.add(&session.agent, Purpose::Receive(session.id.clone()), floor)?;
        let mut state = self.state();
        let waiters = state.by_agent.get_mut(&session.agent).into_iter().flat_map(|mailbox| &mut mailbox.waiters);
        let purpose = Purpose::Receive(session.id.clone());
        let is_older = |one: &&mut Waiter| one.purpose == purpose && one.since.elapsed() >= PARALLEL;
        for older in waiters.filter(is_older) {
            older.is_superseded.store(true, Ordering::Relaxed);
            older.on_wake = None;
            older.bell.notify_one();
        }
        drop(state);
        Ok(ticket)
    }

    fn add(self: &Arc<Waits>, agent: &AgentName, purpose: Purpose, floor: Floor) -> Result<Ticket, Refusal> {
        let mut state = self.state();
        if state.count >= MOST {
            return Err(Refusal::TooMany { what: "waiters", limit: MOST as u64 });
        }
        state.next += 1;
        state.count += 1;
        let (number, bell) = (state.next, Arc::new(Notify::new()));
        let mailbox = state.by_agent.entry(agent.clone()).or_default();
        let is_superseded = Arc::<AtomicBool>::default();
        mailbox.waiters.push(Waiter {
            number,
            floor,
            purpose,
            since: Instant::now(),
            is_superseded: Arc::clone(&is_superseded),
            bell: Arc::clone(&bell),
            on_wake: None,
        });
        Ok(Ticket { waits: Arc::clone(self), agent: agent.clone(), number, is_superseded, bell })
    }

    /// Returns the first steps of the waiters that the arrivals concern. [`Waits::wake`] still rings those waiters.
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

    /// Wakes the waiters that the arrivals concern. All waiters of a mailbox ask the store, which gives each message to
    /// one of them.
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

    /// Wakes these agents' waiters if their mailbox has a new version, or no longer exists because the name was changed
    /// or removed.
    pub(crate) fn wake_by_versions(&self, agents: &[AgentName], versions: &BTreeMap<AgentName, u64>) {
        let (mut state, mut actions) = (self.state(), Vec::new());
        for agent in agents {
            let Some(mailbox) = state.by_agent.get_mut(agent) else { continue };
            let version = versions.get(agent).copied();
            if version.is_none() || mailbox.version != version {
                mailbox.version = version;
                mailbox.waiters.iter_mut().for_each(|waiter| waiter.wake(&mut actions));
            }
        }
        drop(state);
        actions.into_iter().for_each(|on_wake| on_wake.begin());
    }

    /// Returns the agents that have waiters.
    pub(crate) fn agents(&self) -> Vec<AgentName> {
        self.state().by_agent.keys().cloned().collect()
    }

    /// Returns true if a waiter is registered for the agent's mail.
    pub(crate) fn has(&self, agent: &AgentName) -> bool {
        let state = self.state();
        let mailbox = state.by_agent.get(agent);
        mailbox.is_some_and(|mailbox| mailbox.waiters.iter().any(|waiter| waiter.purpose != Purpose::Note))
    }

    pub(crate) fn count(&self) -> usize {
        self.state().count
    }
}

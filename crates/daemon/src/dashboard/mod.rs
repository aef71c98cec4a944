//! The rooms that faces show ([`project::dashboard`]): the log of calls, notable events, the rows of agents, and the rules for what
//! needs a person. [`crate::collect`] collects them.

mod agents;
mod calls;
mod events;
mod rules;

use std::collections::HashMap;
use std::sync::Arc;

use project::dashboard::{Rooms, Snapshot};
use tokio::sync::Mutex;
use tokio::time::Instant;

pub(crate) use self::agents::{Presence, rows as agent_rows};
pub(crate) use self::calls::{Agent, CallLog, key as agent_key};
pub(crate) use self::events::Events;
pub(crate) use self::rules::{mark_stuck, needs};

/// The latest snapshot.
#[derive(Default)]
pub(crate) struct Latest(pub Mutex<State>);

#[derive(Default)]
pub(crate) struct State {
    pub snapshot: Arc<Snapshot>,
    pub collected: Option<Instant>,
    /// The rows of each part, for when it does not answer in time.
    pub parts: HashMap<&'static str, Rooms>,
    pub events: Events,
}

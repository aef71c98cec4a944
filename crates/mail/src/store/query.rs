//! Everything that can be asked of a store, with what it answers. No query has an effect.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Agent, AgentName, Delivery, Floor, Group, GroupName, MessageId, MessageView, Millis, SessionId};

/// A query with its own type of answer.
pub trait Lookup: Send + 'static {
    /// What it answers.
    type Out;
    /// As one of all queries.
    fn into_query(self) -> Query;
    /// Its answer, if it is one.
    fn out(found: Found) -> Option<Self::Out>;
}

macro_rules! queries {
    ($($(#[$doc:meta])* $name:ident => $out:ty),* $(,)?) => {
        /// Everything that can be asked.
        #[derive(Debug, Clone)]
        pub enum Query { $($(#[$doc])* $name($name)),* }

        /// What queries answer.
        #[derive(Debug, Clone)]
        pub enum Found { $($(#[$doc])* $name($out)),* }

        $(impl Lookup for $name {
            type Out = $out;
            fn into_query(self) -> Query { Query::$name(self) }
            fn out(found: Found) -> Option<$out> {
                match found { Found::$name(out) => Some(out), _ => None }
            }
        })*
    };
}

queries! {
    /// See [`Agents`].
    Agents => Roster,
    /// See [`Groups`].
    Groups => Vec<Group>,
    /// See [`Inbox`].
    Inbox => Counts,
    /// See [`Fetch`].
    Fetch => Fetched,
    /// See [`Find`].
    Find => Option<MessageView>,
    /// See [`Thread`].
    Thread => Option<Vec<MessageView>>,
    /// See [`Search`].
    Search => Vec<MessageView>,
    /// See [`Status`].
    Status => Option<Vec<Delivery>>,
    /// See [`Versions`].
    Versions => BTreeMap<AgentName, u64>,
    /// See [`Leases`].
    Leases => Vec<SessionId>,
}

/// All agents, by name.
#[derive(Debug, Clone)]
pub struct Agents;

/// The agents, and the time by the store's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    pub now: Millis,
    /// The agents. Their standing goes by when they were last seen alone.
    pub agents: Vec<Agent>,
}

/// All groups, or one, by name; `everyone` is first.
#[derive(Debug, Clone)]
pub struct Groups {
    /// Only this one.
    pub name: Option<GroupName>,
}

/// How full a mailbox is.
#[derive(Debug, Clone)]
pub struct Inbox {
    pub agent: AgentName,
}

/// What waits in a mailbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// What could be handed out now, by level from low to critical.
    pub free: [u64; 4],
    /// What is handed out and not confirmed.
    pub leased: u64,
    /// The last sequence number.
    pub latest_seq: u64,
}

impl Counts {
    /// What could be handed out now.
    pub fn total(&self) -> u64 {
        self.free.iter().sum()
    }

    /// What of it is below the floor.
    pub fn below(&self, floor: Floor) -> u64 {
        self.free[..usize::from(floor.least().level())].iter().sum()
    }
}

/// Messages of a mailbox in the order of their sequence, whatever their state.
#[derive(Debug, Clone)]
pub struct Fetch {
    pub agent: AgentName,
    /// Only later ones.
    pub after: u64,
    /// Only these.
    pub floor: Floor,
    /// Only what still waits to be read.
    pub waiting_only: bool,
    /// At most so many.
    pub limit: usize,
}

/// A look into a mailbox.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fetched {
    pub messages: Vec<MessageView>,
    /// How many more there are that the same question would find.
    pub remaining: u64,
    /// How many later ones are below the floor.
    pub below_floor: u64,
    /// The mailbox's last sequence number.
    pub latest_seq: u64,
}

/// One message, if the agent wrote or received it.
#[derive(Debug, Clone)]
pub struct Find {
    /// Who asks.
    pub agent: AgentName,
    pub id: MessageId,
}

/// The conversation that a message belongs to, in order: what of it the agent wrote or received.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Who asks.
    pub agent: AgentName,
    /// A message of it.
    pub id: MessageId,
    /// At most so many: the latest.
    pub limit: usize,
}

/// Messages that the agent wrote or received and that hold all the words, newest first.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Who asks.
    pub agent: Option<AgentName>,
    /// The words, as [`crate::model::words::words`] makes them.
    pub words: BTreeSet<String>,
    /// Written by.
    pub from: Option<AgentName>,
    /// Received by.
    pub to: Option<AgentName>,
    /// Not before.
    pub since: Option<Millis>,
    /// Not after.
    pub until: Option<Millis>,
    /// At most so many.
    pub limit: usize,
}

/// How a message has fared, if the agent wrote or received it.
#[derive(Debug, Clone)]
pub struct Status {
    /// Who asks.
    pub agent: AgentName,
    pub id: MessageId,
}

/// A number for each mailbox that rises whenever something can be handed out that could not before.
#[derive(Debug, Clone)]
pub struct Versions {
    pub agents: Vec<AgentName>,
}

/// The sessions that have something in hand and that this daemon answers for.
#[derive(Debug, Clone)]
pub struct Leases;

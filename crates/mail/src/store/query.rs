//! Every query of a store, and its answer. Queries have no effect.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Agent, AgentName, Delivery, Floor, Group, GroupName, MessageId, MessageView, Millis, SessionId};

pub trait Lookup: Send + 'static {
    /// The message that this one answers.
    type Out;
    fn into_query(self) -> Query;
    /// Unwraps the answer; `None` if it belongs to another query.
    fn unwrap_answer(found: QueryResult) -> Option<Self::Out>;
}

macro_rules! queries {
    ($($(#[$doc:meta])* $name:ident => $out:ty),* $(,)?) => {
        /// Everything that can be asked.
        #[derive(Debug, Clone)]
        pub enum Query { $($(#[$doc])* $name($name)),* }

        #[derive(Debug, Clone)]
        pub enum QueryResult { $($(#[$doc])* $name($out)),* }

        $(impl Lookup for $name {
            type Out = $out;
            fn into_query(self) -> Query { Query::$name(self) }
            fn unwrap_answer(found: QueryResult) -> Option<$out> {
                match found { QueryResult::$name(out) => Some(out), _ => None }
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
    /// The agents. A store does not know the connections: all agents are reported as offline.
    pub agents: Vec<Agent>,
}

/// All groups by name, `everyone` first; or only one.
#[derive(Debug, Clone)]
pub struct Groups {
    /// If given, only this group.
    pub name: Option<GroupName>,
}

#[derive(Debug, Clone)]
pub struct Inbox {
    pub agent: AgentName,
}

/// The counts of messages that wait in a mailbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Deliveries that can be handed out, by level from low to critical.
    pub free: [u64; 4],
    /// Deliveries that are handed out but not confirmed.
    pub leased: u64,
    pub latest_seq: u64,
}

impl Counts {
    /// Deliveries that can be handed out.
    pub fn total(&self) -> u64 {
        self.free.iter().sum()
    }

    /// Returns the number of these below the floor.
    pub fn count_below(&self, floor: Floor) -> u64 {
        self.free[..usize::from(floor.least().level())].iter().sum()
    }
}

/// Messages of a mailbox in the order of their sequence, whatever their state.
#[derive(Debug, Clone)]
pub struct Fetch {
    pub agent: AgentName,
    /// Only messages after this sequence number.
    pub after: u64,
    pub floor: Floor,
    pub among: Among,
    pub limit: usize,
}

/// In which states messages are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// In every state.
    All,
    /// Those that were not confirmed, whether handed out or not.
    Waiting,
    /// Those that can be handed out.
    Free,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fetched {
    pub messages: Vec<MessageView>,
    /// The number of further messages that the same query would find.
    pub remaining: u64,
    /// The number of later messages below the floor.
    pub below_floor: u64,
    pub latest_seq: u64,
}

/// One message, if the agent wrote or received it.
#[derive(Debug, Clone)]
pub struct Find {
    /// The reader.
    pub agent: AgentName,
    pub id: MessageId,
}

/// The messages of a conversation that the agent wrote or received, in order.
#[derive(Debug, Clone)]
pub struct Thread {
    /// The reader.
    pub agent: AgentName,
    /// Any message of the conversation.
    pub id: MessageId,
    /// The maximum number of messages; the latest are kept.
    pub limit: usize,
}

/// Messages that the agent wrote or received and that contain every word, newest first.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The reader.
    pub agent: Option<AgentName>,
    /// The words, normalized by [`crate::model::search_words::split_words`].
    pub words: BTreeSet<String>,
    pub from: Option<AgentName>,
    pub to: Option<AgentName>,
    pub since: Option<Millis>,
    pub until: Option<Millis>,
    /// The prefix of their ids, in lower case.
    pub id: Option<String>,
    pub limit: usize,
}

/// The deliveries of a message, if the agent wrote or received it.
#[derive(Debug, Clone)]
pub struct Status {
    /// The reader.
    pub agent: AgentName,
    pub id: MessageId,
}

/// The version of each mailbox. It rises whenever another message becomes free to hand out.
#[derive(Debug, Clone)]
pub struct Versions {
    pub agents: Vec<AgentName>,
}

/// The sessions with leases for which this daemon is responsible.
#[derive(Debug, Clone)]
pub struct Leases;

//! The rules' view of an engine: its rows, and how they are read and written. No method decides anything; each is about
//! one SQL statement.

use crate::error::Refusal;
use crate::model::address::Directory;
use crate::model::order::Position;
use crate::model::{
    AgentName, DeliveryState, GroupName, HandedOut, Holder, Limits, Member, MessageId, Millis, Priority, Profile,
    SessionId,
};
use crate::store::change::{
    Append, BeginHint, Claim, CreateGroup, EndHint, Enter, HintVerdict, Purge, Purged, Recipient, Touch,
};
use crate::store::message::NewMessage;

/// The owner of a name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ownership {
    /// Rises with each takeover; a session with a lower fence has lost the name.
    pub(crate) fence: u64,
    pub(crate) holder: Option<Holder>,
}

/// The columns of an agent's row that changes need.
#[derive(Debug, Clone)]
pub(crate) struct AgentRow<A> {
    pub(crate) id: A,
    pub(crate) owner: Ownership,
    pub(crate) seen_at: Millis,
}

/// A mailbox's row: loaded, changed and saved within one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mailbox<A> {
    pub(crate) agent: A,
    pub(crate) seq: u64,
    /// Rises whenever another message becomes free to hand out. The column is called `tip`.
    pub(crate) version: u64,
    pub(crate) bytes: u64,
    /// Deliveries that can be handed out, by level from low to critical.
    pub(crate) free: [u64; 4],
    pub(crate) leased: u64,
}

impl<A> Mailbox<A> {
    pub(crate) fn waiting(&self) -> u64 {
        self.free.iter().sum::<u64>() + self.leased
    }

    pub(crate) fn free(&mut self, priority: Priority) -> &mut u64 {
        &mut self.free[usize::from(priority.level().min(3))]
    }
}

/// The columns of a delivery's row that changes need.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryRow<A, M> {
    pub(crate) agent: A,
    pub(crate) seq: u64,
    pub(crate) message: M,
    pub(crate) priority: Priority,
    pub(crate) attempts: u32,
    pub(crate) bytes: u64,
    pub(crate) state: DeliveryState,
    /// Time of the last hand-out.
    pub(crate) fetched_at: Option<Millis>,
    /// The call that leased it, while it is leased, with the flags of [`super::reminders`].
    pub(crate) token: Option<u64>,
}

/// A delivery that a claim has leased.
#[derive(Debug, Clone)]
pub(crate) struct LeasedRow<M> {
    pub(crate) seq: u64,
    pub(crate) message: M,
    pub(crate) attempt: u32,
}

/// A delivery that a claim may lease.
pub(crate) struct Candidate<M> {
    pub(crate) position: Position,
    pub(crate) bytes: u64,
    pub(crate) taken: LeasedRow<M>,
}

/// Agents and groups.
pub(crate) trait AgentRows {
    /// The key of an agent's row.
    type Agent: Clone + Ord;
    /// The key of a group's row.
    type Group;
    type Fault: From<Refusal>;

    fn now(&self) -> Millis;
    fn limits(&self) -> &Limits;

    async fn agent(&mut self, name: &AgentName) -> Result<Option<AgentRow<Self::Agent>>, Self::Fault>;
    async fn agent_name(&mut self, agent: &Self::Agent) -> Result<AgentName, Self::Fault>;
    async fn alias_owner(&mut self, alias: &str) -> Result<Option<AgentName>, Self::Fault>;
    async fn count_agents(&mut self) -> Result<u64, Self::Fault>;
    /// Registers an agent with an empty mailbox and fence 1. `None` if another daemon has just registered it.
    async fn insert_agent(&mut self, enter: &Enter) -> Result<Option<AgentRow<Self::Agent>>, Self::Fault>;
    async fn set_owner(&mut self, agent: &Self::Agent, owner: &Ownership) -> Result<(), Self::Fault>;
    /// Absent fields stay as they are.
    async fn set_profile(
        &mut self,
        agent: &Self::Agent,
        profile: &Profile,
        seen_at: Option<Millis>,
    ) -> Result<(), Self::Fault>;
    async fn touch(&mut self, touch: &Touch) -> Result<(), Self::Fault>;
    /// Replaces a name by an unused one everywhere: the agent, its groups, its messages.
    async fn rename_agent(&mut self, agent: &Self::Agent, from: &AgentName, to: &AgentName) -> Result<(), Self::Fault>;
    /// Removes an agent with its mailbox, deliveries and memberships.
    async fn remove_agent(&mut self, agent: &Self::Agent, name: &AgentName) -> Result<(), Self::Fault>;
    /// Returns the agents and groups that the addresses of an append could name.
    async fn directory(&mut self, append: &Append) -> Result<Directory, Self::Fault>;

    async fn group(&mut self, name: &GroupName) -> Result<Option<Self::Group>, Self::Fault>;
    async fn count_groups(&mut self) -> Result<u64, Self::Fault>;
    /// False if another daemon has just made it.
    async fn insert_group(&mut self, create: &CreateGroup) -> Result<bool, Self::Fault>;
    async fn remove_group(&mut self, group: &Self::Group) -> Result<(), Self::Fault>;
    /// Returns the number of members that the group has, and whether `member` is one of them.
    async fn membership(&mut self, group: &Self::Group, member: &Member) -> Result<(u64, bool), Self::Fault>;
    async fn insert_member(&mut self, group: &Self::Group, member: &Member) -> Result<(), Self::Fault>;
    /// Returns whether it was a member.
    async fn remove_member(&mut self, group: &Self::Group, member: &Member) -> Result<bool, Self::Fault>;
}

/// A delivery of an engine.
pub(crate) type DeliveryOf<R> = DeliveryRow<<R as AgentRows>::Agent, <R as MessageRows>::Message>;

/// Messages, mailboxes and deliveries.
pub(crate) trait MessageRows: AgentRows {
    /// The key of a message's row.
    type Message: Clone;

    async fn mailbox(&mut self, agent: &Self::Agent) -> Result<Mailbox<Self::Agent>, Self::Fault>;
    async fn save(&mut self, mailbox: &Mailbox<Self::Agent>) -> Result<(), Self::Fault>;
    /// Notes, for the waiters, that another message is free to hand out.
    fn note_arrival(&mut self, agent: &AgentName, priority: Priority);

    /// Returns true if there is or was a message with this id.
    async fn is_known(&mut self, id: &MessageId) -> Result<bool, Self::Fault>;
    /// Returns the message that was sent with an idempotency key, and the hash of its content.
    async fn with_key(&mut self, sender: &AgentName, key: &str) -> Result<Option<(MessageId, Vec<u8>)>, Self::Fault>;
    /// Returns the conversation of a message, if the agent wrote or received it.
    async fn thread_of(&mut self, id: &MessageId, agent: &AgentName) -> Result<Option<MessageId>, Self::Fault>;
    /// Returns a message's conversation, and when it was stored. `None` if the message was purged.
    async fn thread_and_time(&mut self, id: &MessageId) -> Result<Option<(MessageId, Millis)>, Self::Fault>;
    /// Returns a message's id, sender and conversation.
    async fn origin(&mut self, message: &Self::Message) -> Result<(MessageId, AgentName, MessageId), Self::Fault>;
    /// Returns the recipients of the message, by name.
    async fn recipients(&mut self, id: &MessageId) -> Result<Vec<Recipient>, Self::Fault>;
    async fn insert_message(&mut self, message: &NewMessage<'_>) -> Result<Self::Message, Self::Fault>;
    /// Puts a stored message at the end of a mailbox, which already counts it.
    async fn insert_delivery(
        &mut self,
        mailbox: &Mailbox<Self::Agent>,
        number: &Self::Message,
        message: &NewMessage<'_>,
    ) -> Result<(), Self::Fault>;

    async fn delivery(&mut self, agent: &Self::Agent, id: &MessageId) -> Result<Option<DeliveryOf<Self>>, Self::Fault>;
    /// Returns a session's messages in hand, by mailbox and sequence; optionally only in one mailbox.
    async fn leased_to(
        &mut self,
        session: &SessionId,
        agent: Option<&Self::Agent>,
    ) -> Result<Vec<DeliveryOf<Self>>, Self::Fault>;
    /// Returns the messages in hand of a mailbox.
    async fn leased_from(&mut self, agent: &Self::Agent) -> Result<Vec<DeliveryOf<Self>>, Self::Fault>;
    /// Returns the first `max` deliveries of this priority, by sequence, that can be handed out.
    async fn candidates(
        &mut self,
        agent: &Self::Agent,
        priority: Priority,
        max: usize,
    ) -> Result<Vec<Candidate<Self::Message>>, Self::Fault>;
    /// Leases deliveries to a claim, and counts one more attempt for each.
    async fn lease(
        &mut self,
        agent: &Self::Agent,
        taken: &[LeasedRow<Self::Message>],
        claim: &Claim,
    ) -> Result<(), Self::Fault>;
    async fn read(
        &mut self,
        agent: &Self::Agent,
        taken: Vec<LeasedRow<Self::Message>>,
    ) -> Result<Vec<HandedOut>, Self::Fault>;
    /// Moves a delivery forward to a state in which it no longer waits, and ends its lease.
    async fn finish(
        &mut self,
        one: &DeliveryOf<Self>,
        state: DeliveryState,
        note: Option<&str>,
    ) -> Result<(), Self::Fault>;
    /// Changes the token of a lease. `is_handed`: the delivery was handed out, or listed, by the call of that token.
    async fn set_token(&mut self, one: &DeliveryOf<Self>, token: u64, is_handed: bool) -> Result<(), Self::Fault>;
    /// Ends a lease; the delivery waits again.
    async fn put_back(&mut self, one: &DeliveryOf<Self>, attempts: u32) -> Result<(), Self::Fault>;

    async fn begin_hint(&mut self, hint: &BeginHint) -> Result<HintVerdict, Self::Fault>;
    async fn end_hint(&mut self, hint: &EndHint) -> Result<(), Self::Fault>;
    async fn purge(&mut self, purge: &Purge) -> Result<Purged, Self::Fault>;
}

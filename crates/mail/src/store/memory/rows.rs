//! The rows of a space in memory: agents and groups here, messages in [`super::deliver`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::error::Refusal;
use crate::model::address::Directory;
use crate::model::{
    AgentName, Clock, DeliveryState, GroupName, HintAttempt, Kind, Limits, Member, MemberKind, MessageId, Millis,
    Priority, Profile, Role, SessionId,
};
use crate::store::Arrival;
use crate::store::change::{Append, CreateGroup, Enter, Touch};
use crate::store::rules::agents::NO_ROLE;
use crate::store::rules::{AgentRow, AgentRows, Mailbox, Ownership};

pub(super) struct Rows {
    pub(super) clock: Clock,
    pub(super) limits: Limits,
    pub(super) agents: BTreeMap<AgentName, Agent>,
    pub(super) groups: BTreeMap<GroupName, Group>,
    pub(super) messages: HashMap<MessageId, Message>,
    /// The number of messages stored so far: it orders messages across mailboxes.
    pub(super) stored: u64,
    pub(super) keys: HashMap<(AgentName, String), (Vec<u8>, MessageId)>,
    /// Ids of purged messages, which may not be stored again.
    pub(super) tombs: BTreeSet<MessageId>,
    pub(super) purged_before: Millis,
    /// The news of the running change.
    pub(super) arrivals: Vec<Arrival>,
}

pub(super) struct Agent {
    pub(super) role: Role,
    pub(super) module: String,
    pub(super) intent: String,
    pub(super) branch: String,
    pub(super) alias: Option<String>,
    pub(super) registered_at: Millis,
    pub(super) seen_at: Millis,
    pub(super) owner: Ownership,
    pub(super) mailbox: Mailbox<AgentName>,
    pub(super) slots: BTreeMap<u64, Slot>,
}

pub(super) struct Group {
    pub(super) description: String,
    pub(super) created_at: Millis,
    pub(super) created_by: AgentName,
    pub(super) members: BTreeSet<Member>,
}

pub(super) struct Message {
    pub(super) order: u64,
    pub(super) sender: AgentName,
    pub(super) to: Vec<String>,
    pub(super) content: Arc<str>,
    pub(super) priority: Priority,
    pub(super) at: Millis,
    pub(super) thread: MessageId,
    pub(super) reply_to: Option<MessageId>,
    pub(super) metadata: String,
    pub(super) kind: Kind,
    /// The recipients, with the sequence number in each mailbox.
    pub(super) recipients: BTreeMap<AgentName, u64>,
}

/// A message's place in a mailbox.
pub(super) struct Slot {
    pub(super) message: MessageId,
    pub(super) priority: Priority,
    pub(super) at: Millis,
    pub(super) bytes: u64,
    pub(super) state: DeliveryState,
    /// The session and call that have the message in hand.
    pub(super) lease: Option<(SessionId, u64)>,
    pub(super) attempts: u32,
    pub(super) hinted_at: Option<Millis>,
    pub(super) fetched_at: Option<Millis>,
    pub(super) fetched_by: Option<SessionId>,
    pub(super) read_at: Option<Millis>,
    pub(super) settled_at: Option<Millis>,
    pub(super) note: Option<String>,
    pub(super) hints: Vec<HintAttempt>,
}

impl Slot {
    pub(super) fn is_free(&self) -> bool {
        self.state.is_waiting() && self.lease.is_none()
    }
}

impl Rows {
    pub(super) fn new(clock: Clock, limits: Limits) -> Rows {
        Rows {
            clock,
            limits,
            agents: BTreeMap::new(),
            groups: BTreeMap::new(),
            messages: HashMap::new(),
            stored: 0,
            keys: HashMap::new(),
            tombs: BTreeSet::new(),
            purged_before: 0,
            arrivals: Vec::new(),
        }
    }
}

impl AgentRows for Rows {
    type Agent = AgentName;
    type Group = GroupName;
    type Fault = Refusal;

    fn now(&self) -> Millis {
        self.clock.now()
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    async fn agent(&mut self, name: &AgentName) -> Result<Option<AgentRow<AgentName>>, Refusal> {
        let found = self.agents.get(name);
        Ok(found.map(|agent| AgentRow { id: name.clone(), owner: agent.owner.clone(), seen_at: agent.seen_at }))
    }

    async fn agent_name(&mut self, agent: &AgentName) -> Result<AgentName, Refusal> {
        Ok(agent.clone())
    }

    async fn alias_owner(&mut self, alias: &str) -> Result<Option<AgentName>, Refusal> {
        let found = self.agents.iter().find(|(_, agent)| agent.alias.as_deref() == Some(alias));
        Ok(found.map(|(name, _)| name.clone()))
    }

    async fn count_agents(&mut self) -> Result<u64, Refusal> {
        Ok(self.agents.len() as u64)
    }

    async fn insert_agent(&mut self, enter: &Enter) -> Result<Option<AgentRow<AgentName>>, Refusal> {
        let owner = Ownership { fence: 1, holder: enter.holder.clone() };
        let id = enter.agent.clone();
        let agent = Agent {
            role: Role::stored(NO_ROLE),
            module: String::new(),
            intent: String::new(),
            branch: String::new(),
            alias: None,
            registered_at: self.clock.now(),
            seen_at: 0,
            owner: owner.clone(),
            mailbox: Mailbox { agent: id.clone(), seq: 0, version: 0, bytes: 0, free: [0; 4], leased: 0 },
            slots: BTreeMap::new(),
        };
        self.agents.insert(id.clone(), agent);
        Ok(Some(AgentRow { id, owner, seen_at: 0 }))
    }

    async fn set_owner(&mut self, agent: &AgentName, owner: &Ownership) -> Result<(), Refusal> {
        self.stored(agent).owner = owner.clone();
        Ok(())
    }

    async fn set_profile(
        &mut self,
        agent: &AgentName,
        profile: &Profile,
        seen_at: Option<Millis>,
    ) -> Result<(), Refusal> {
        let row = self.stored(agent);
        if let Some(role) = &profile.role {
            row.role = role.clone();
        }
        for (field, new) in
            [(&mut row.module, &profile.module), (&mut row.intent, &profile.intent), (&mut row.branch, &profile.branch)]
        {
            if let Some(new) = new {
                field.clone_from(new);
            }
        }
        if profile.alias.is_some() {
            row.alias.clone_from(&profile.alias);
        }
        row.seen_at = seen_at.unwrap_or(row.seen_at);
        Ok(())
    }

    async fn touch(&mut self, touch: &Touch) -> Result<(), Refusal> {
        let now = self.clock.now();
        for agent in &touch.agents {
            if let Some(row) = self.agents.get_mut(agent) {
                row.seen_at = now;
            }
        }
        Ok(())
    }

    async fn rename_agent(&mut self, agent: &AgentName, from: &AgentName, to: &AgentName) -> Result<(), Refusal> {
        let mut row = self.agents.remove(agent).expect("the rule has found it");
        row.mailbox.agent = to.clone();
        self.agents.insert(to.clone(), row);
        for message in self.messages.values_mut() {
            if message.sender == *from {
                message.sender = to.clone();
            }
            if let Some(seq) = message.recipients.remove(from) {
                message.recipients.insert(to.clone(), seq);
            }
        }
        let keys = std::mem::take(&mut self.keys).into_iter();
        self.keys = keys
            .map(|((sender, key), sent)| ((if sender == *from { to.clone() } else { sender }, key), sent))
            .collect();
        let was = Member { kind: MemberKind::Agent, id: from.to_string() };
        for group in self.groups.values_mut() {
            if group.members.remove(&was) {
                group.members.insert(Member { id: to.to_string(), ..was.clone() });
            }
            if group.created_by == *from {
                group.created_by = to.clone();
            }
        }
        Ok(())
    }

    async fn remove_agent(&mut self, agent: &AgentName, name: &AgentName) -> Result<(), Refusal> {
        self.agents.remove(agent);
        for message in self.messages.values_mut() {
            message.recipients.remove(name);
        }
        let was = Member { kind: MemberKind::Agent, id: name.to_string() };
        for group in self.groups.values_mut() {
            group.members.remove(&was);
        }
        Ok(())
    }

    async fn directory(&mut self, _: &Append) -> Result<Directory, Refusal> {
        let members = |group: &Group| group.members.iter().cloned().collect();
        Ok(Directory {
            agents: self.agents.iter().map(|(name, row)| (name.clone(), row.role.to_string())).collect(),
            aliases: self.agents.iter().filter_map(|(name, row)| Some((row.alias.clone()?, name.clone()))).collect(),
            groups: self.groups.iter().map(|(name, group)| (name.to_string(), members(group))).collect(),
        })
    }

    async fn group(&mut self, name: &GroupName) -> Result<Option<GroupName>, Refusal> {
        Ok(self.groups.contains_key(name).then(|| name.clone()))
    }

    async fn count_groups(&mut self) -> Result<u64, Refusal> {
        Ok(self.groups.len() as u64)
    }

    async fn insert_group(&mut self, create: &CreateGroup) -> Result<bool, Refusal> {
        let group = Group {
            description: create.description.clone(),
            created_at: self.clock.now(),
            created_by: create.session.agent.clone(),
            members: BTreeSet::new(),
        };
        self.groups.insert(create.name.clone(), group);
        Ok(true)
    }

    async fn remove_group(&mut self, group: &GroupName) -> Result<(), Refusal> {
        self.groups.remove(group);
        Ok(())
    }

    async fn membership(&mut self, group: &GroupName, member: &Member) -> Result<(u64, bool), Refusal> {
        let members = self.members(group);
        Ok((members.len() as u64, members.contains(member)))
    }

    async fn insert_member(&mut self, group: &GroupName, member: &Member) -> Result<(), Refusal> {
        self.members(group).insert(member.clone());
        Ok(())
    }

    async fn remove_member(&mut self, group: &GroupName, member: &Member) -> Result<bool, Refusal> {
        Ok(self.members(group).remove(member))
    }
}

impl Rows {
    /// Returns the row of an agent that a rule has found in this change, so it exists.
    pub(super) fn stored(&mut self, agent: &AgentName) -> &mut Agent {
        self.agents.get_mut(agent).expect("the rule has found it")
    }

    fn members(&mut self, group: &GroupName) -> &mut BTreeSet<Member> {
        &mut self.groups.get_mut(group).expect("the rule has found it").members
    }
}

//! The rows of a space in memory; agents and groups. What happens to messages is in [`super::deliver`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::error::Refusal;
use crate::model::address::Directory;
use crate::model::{
    AgentName, Clock, DeliveryState, GroupName, HintAttempt, Kind, Limits, Member, MemberKind, MessageId, Millis,
    Priority, Role, Session, SessionId,
};
use crate::store::Arrival;
use crate::store::change::{AddMember, CreateGroup, DeleteGroup, Enter, Entered, RemoveMember, Touch};
use crate::store::plan::{self, Entry, Held};

pub(super) struct Rows {
    pub(super) clock: Clock,
    pub(super) limits: Limits,
    pub(super) agents: BTreeMap<AgentName, AgentRow>,
    pub(super) groups: BTreeMap<GroupName, GroupRow>,
    pub(super) messages: HashMap<MessageId, MessageRow>,
    /// Counts messages; gives their order across mailboxes.
    pub(super) stored: u64,
    pub(super) keys: HashMap<(AgentName, String), ([u8; 32], MessageId)>,
    /// What was purged, and may not come back.
    pub(super) tombs: BTreeSet<MessageId>,
    pub(super) purged_before: Millis,
    /// What the running change has to say to those who wait.
    pub(super) arrivals: Vec<Arrival>,
}

pub(super) struct AgentRow {
    pub(super) role: Role,
    pub(super) module: String,
    pub(super) intent: String,
    pub(super) branch: String,
    pub(super) alias: Option<String>,
    pub(super) registered_at: Millis,
    pub(super) seen_at: Millis,
    pub(super) held: Held,
    pub(super) seq: u64,
    pub(super) tip: u64,
    pub(super) waiting: u64,
    pub(super) waiting_bytes: u64,
    pub(super) slots: BTreeMap<u64, Slot>,
}

pub(super) struct GroupRow {
    pub(super) description: String,
    pub(super) created_at: Millis,
    pub(super) created_by: AgentName,
    pub(super) members: BTreeSet<Member>,
}

pub(super) struct MessageRow {
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
    /// Who has it, and where in the mailbox.
    pub(super) recipients: BTreeMap<AgentName, u64>,
}

/// A message's place in a mailbox.
pub(super) struct Slot {
    pub(super) message: MessageId,
    pub(super) priority: Priority,
    pub(super) at: Millis,
    pub(super) bytes: u64,
    pub(super) state: DeliveryState,
    /// Who has it in hand, and by which call.
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

    /// The caller's row, if the caller still has the name.
    pub(super) fn caller(&mut self, session: &Session) -> Result<&mut AgentRow, Refusal> {
        let row = self.agents.get_mut(&session.agent).ok_or_else(|| unknown(&session.agent))?;
        plan::check_fence(session, &row.held)?;
        Ok(row)
    }

    pub(super) fn enter(&mut self, enter: &Enter) -> Result<Entered, Refusal> {
        let now = self.clock.now();
        if let Some(alias) = &enter.profile.alias
            && let Some((agent, _)) = self.agents.iter().find(|(_, row)| row.alias.as_ref() == Some(alias))
            && *agent != enter.agent
        {
            return Err(Refusal::AliasTaken { alias: alias.clone(), agent: agent.clone() });
        }
        let created = !self.agents.contains_key(&enter.agent);
        let mut taken_from = None;
        if created {
            if !enter.create {
                return Err(unknown(&enter.agent));
            }
            if self.agents.len() as u64 >= self.limits.agents {
                return Err(Refusal::TooMany { what: "agents", limit: self.limits.agents });
            }
            let row = AgentRow {
                role: Role::stored(plan::NO_ROLE),
                module: String::new(),
                intent: String::new(),
                branch: String::new(),
                alias: None,
                registered_at: now,
                seen_at: 0,
                held: Held { fence: 1, holder: enter.holder.clone() },
                seq: 0,
                tip: 0,
                waiting: 0,
                waiting_bytes: 0,
                slots: BTreeMap::new(),
            };
            self.agents.insert(enter.agent.clone(), row);
        } else {
            let row = self.agents.get_mut(&enter.agent).expect("looked up above");
            match plan::entry(enter, &row.held)? {
                Entry::Keep => {}
                Entry::Take => row.held.holder = enter.holder.clone(),
                Entry::TakeOver(from) => {
                    row.held = Held { fence: row.held.fence + 1, holder: enter.holder.clone() };
                    taken_from = Some(from);
                }
            }
        }
        let row = self.agents.get_mut(&enter.agent).expect("there by now");
        let profile = &enter.profile;
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
        if enter.holder.is_some() {
            row.seen_at = now;
        }
        let fence = row.held.fence;
        if taken_from.is_some() {
            // Whoever had something in hand can never confirm it now.
            self.free(&enter.agent, |_| true);
            self.arrive(&enter.agent, Priority::Critical);
        }
        Ok(Entered { fence, created, taken_from })
    }

    pub(super) fn touch(&mut self, touch: &Touch) {
        let now = self.clock.now();
        for agent in &touch.agents {
            if let Some(row) = self.agents.get_mut(agent) {
                row.seen_at = now;
            }
        }
    }

    pub(super) fn arrive(&mut self, agent: &AgentName, priority: Priority) {
        if let Some(row) = self.agents.get_mut(agent) {
            row.tip += 1;
            self.arrivals.push(Arrival { agent: agent.clone(), priority });
        }
    }

    /// All that addresses could mean.
    pub(super) fn directory(&self) -> Directory {
        Directory {
            agents: self.agents.iter().map(|(name, row)| (name.clone(), row.role.to_string())).collect(),
            aliases: self.agents.iter().filter_map(|(name, row)| Some((row.alias.clone()?, name.clone()))).collect(),
            groups: self
                .groups
                .iter()
                .map(|(name, row)| (name.to_string(), row.members.iter().cloned().collect()))
                .collect(),
        }
    }

    pub(super) fn create_group(&mut self, create: &CreateGroup) -> Result<(), Refusal> {
        let created_at = self.clock.now();
        self.caller(&create.session)?;
        if create.name.is_everyone() || self.groups.contains_key(&create.name) {
            return Err(Refusal::GroupExists { name: create.name.to_string() });
        }
        if self.groups.len() as u64 >= self.limits.groups {
            return Err(Refusal::TooMany { what: "groups", limit: self.limits.groups });
        }
        let row = GroupRow {
            description: create.description.clone(),
            created_at,
            created_by: create.session.agent.clone(),
            members: BTreeSet::new(),
        };
        self.groups.insert(create.name.clone(), row);
        Ok(())
    }

    pub(super) fn delete_group(&mut self, delete: &DeleteGroup) -> Result<(), Refusal> {
        self.caller(&delete.session)?;
        self.group(&delete.name)?;
        self.groups.remove(&delete.name);
        Ok(())
    }

    fn group(&mut self, name: &GroupName) -> Result<&mut GroupRow, Refusal> {
        if name.is_everyone() {
            return Err(Refusal::GroupProtected { name: name.to_string() });
        }
        let unknown = || Refusal::UnknownGroup { name: name.to_string(), nearest: Vec::new() };
        self.groups.get_mut(name).ok_or_else(unknown)
    }

    pub(super) fn add_member(&mut self, add: &AddMember) -> Result<bool, Refusal> {
        self.caller(&add.session)?;
        plan::check_member(&add.member)?;
        let limit = self.limits.groups;
        let is_known =
            add.member.kind == MemberKind::Role || self.agents.contains_key(&AgentName::stored(&*add.member.id));
        let group = self.group(&add.group)?;
        if !is_known {
            return Err(Refusal::UnknownAgent { name: add.member.id.clone(), nearest: Vec::new() });
        }
        if group.members.len() as u64 >= limit && !group.members.contains(&add.member) {
            return Err(Refusal::TooMany { what: "members", limit });
        }
        Ok(group.members.insert(add.member.clone()))
    }

    pub(super) fn remove_member(&mut self, remove: &RemoveMember) -> Result<bool, Refusal> {
        self.caller(&remove.session)?;
        Ok(self.group(&remove.group)?.members.remove(&remove.member))
    }
}

pub(super) fn unknown(agent: &AgentName) -> Refusal {
    Refusal::UnknownAgent { name: agent.to_string(), nearest: Vec::new() }
}

//! Agents and groups: taking a name, listing, changing groups.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::journal::Record;

use super::Mail;
use crate::error::{MailError, Refusal, StoreError};
use crate::model::address::{Directory, resolve};
use crate::model::{
    Address, Agent, AgentName, Group, GroupName, Holder, Member, MemberKind, Profile, Role, Session, SessionId,
};
use crate::store::change::{
    AddMember, CreateGroup, DeleteGroup, Enter, Entered, Forget, Forgotten, RemoveMember, Rename, Renamed,
};
use crate::store::query;

/// The longest intent or description.
const TEXT_BYTES: usize = 4_000;

#[derive(Debug, Clone)]
pub struct EnterRequest {
    pub agent: AgentName,
    /// The session that takes the name.
    pub session: SessionId,
    /// The caller's host and worktree, according to the kernel.
    pub holder: Holder,
    /// True to take the name from another holder.
    pub takeover: bool,
    /// The holder before its directory was moved.
    pub moved_from: Option<Holder>,
    /// True to register an agent that does not exist.
    pub create: bool,
    /// Absent fields stay as they are.
    pub profile: Profile,
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub session: Session,
    pub created: bool,
    /// The former holder, after a takeover.
    pub taken_from: Option<Holder>,
}

/// A group and the agents that it reaches now.
#[derive(Debug, Clone)]
pub struct Expanded {
    pub group: Group,
    /// By name.
    pub agents: Vec<AgentName>,
}

impl Mail {
    /// Takes a name for a session, and registers the agent if asked to. Repeating it changes nothing.
    ///
    /// # Errors
    /// When the agent does not exist, another holder has the name, or the store is unavailable.
    pub async fn enter(self: &Arc<Mail>, request: EnterRequest) -> Result<Entry, MailError> {
        check_profile(&request.profile)?;
        let enter = Enter {
            agent: request.agent.clone(),
            holder: Some(request.holder.clone()),
            takeover: request.takeover,
            moved_from: request.moved_from.clone(),
            create: request.create,
            profile: request.profile.clone(),
        };
        let entered = match self.retry_uncertain(enter).await {
            Err(MailError::Refused(refusal)) => return Err(self.with_neighbours(refusal).await.into()),
            Err(MailError::Store(error)) if error.is_unwritable() => match self.existing_fence(&request).await {
                Some(fence) => Entered { fence, created: false, taken_from: None },
                None => return Err(error.into()),
            },
            other => other?,
        };
        if entered.created {
            self.record(|| Record::MailAgentRegistered { agent: request.agent.to_string() });
        }
        self.seen.mark(&request.agent);
        let session = Session { agent: request.agent, id: request.session, fence: entered.fence };
        Ok(Entry { session, created: entered.created, taken_from: entered.taken_from })
    }

    /// Returns the fence of a name that the caller already holds, when there is nothing new to note. On a store that
    /// cannot be written, such a caller can still read.
    async fn existing_fence(&self, request: &EnterRequest) -> Option<u64> {
        let agent = self.agent(request.agent.as_str()).await.ok()?;
        let Profile { role, module, intent, branch, alias } = &request.profile;
        let is_noted = role.as_ref().is_none_or(|role| *role == agent.role)
            && [(module, &agent.module), (intent, &agent.intent), (branch, &agent.branch)]
                .into_iter()
                .all(|(said, noted)| said.as_ref().is_none_or(|said| said == noted))
            && alias.is_none();
        (is_noted && agent.holder.as_ref() == Some(&request.holder)).then_some(agent.fence)
    }

    /// Registers an agent without a holder, or changes its profile: for imports.
    ///
    /// # Errors
    /// When the profile is not allowed, or the store is unavailable.
    pub async fn register(&self, agent: &AgentName, profile: Profile) -> Result<bool, MailError> {
        check_profile(&profile)?;
        let enter =
            Enter { agent: agent.clone(), holder: None, takeover: false, moved_from: None, create: true, profile };
        Ok(self.retry_uncertain(enter).await?.created)
    }

    /// Gives an agent an unused name. Its mail, its groups and its messages move along; the old name is free
    /// afterwards. Returns the number of messages that wait for it.
    ///
    /// # Errors
    /// When the agent does not exist, another holder has the name, the new name is taken, or the store is unavailable.
    pub async fn rename(&self, rename: Rename) -> Result<u64, MailError> {
        self.nothing_queued()?;
        let (from, to) = (rename.from.clone(), rename.to.clone());
        // The attempt whose answer was lost has renamed it.
        let is_done = |refusal: &Refusal| {
            matches!(refusal, Refusal::UnknownAgent { name, .. } if name == from.as_str())
                .then_some(Renamed { waiting: 0 })
        };
        let renamed = self.changed(self.retry_uncertain_or(rename.clone(), is_done).await).await?;
        self.sessions.forget(&from);
        self.record(|| Record::MailAgentRenamed { from: from.to_string(), to: to.to_string() });
        Ok(renamed.waiting)
    }

    /// Removes an agent with its mailbox. The senders of waiting messages get reports. Returns the number of these
    /// messages.
    ///
    /// # Errors
    /// When the agent does not exist, another holder has the name, or the store is unavailable.
    pub async fn forget(&self, forget: Forget) -> Result<u64, MailError> {
        self.nothing_queued()?;
        let agent = forget.agent.clone();
        // The attempt whose answer was lost has removed it.
        let is_done =
            |refusal: &Refusal| matches!(refusal, Refusal::UnknownAgent { .. }).then_some(Forgotten { waiting: 0 });
        let waiting = self.changed(self.retry_uncertain_or(forget, is_done).await).await?.waiting;
        self.sessions.forget(&agent);
        self.record(|| Record::MailAgentForgotten { agent: agent.to_string(), waiting });
        Ok(waiting)
    }

    /// Refuses while sends are queued: they carry the names of their senders.
    fn nothing_queued(&self) -> Result<(), StoreError> {
        match self.crowded_spool() {
            None => Ok(()),
            Some(_) => Err(StoreError::Away { reason: "messages wait on this machine until it is back".to_owned() }),
        }
    }

    /// Returns all agents with their standing, by name.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn agents(&self) -> Result<Vec<Agent>, MailError> {
        Ok(self.roster().await?.agents)
    }

    /// Returns one agent.
    ///
    /// # Errors
    /// When no agent has that name (the error holds the nearest names), or the store is unavailable.
    pub async fn agent(&self, name: &str) -> Result<Agent, MailError> {
        let found = self.roster().await?.agents.into_iter().find(|agent| agent.name.as_str() == name);
        match found {
            Some(agent) => Ok(agent),
            None => {
                let unknown = Refusal::UnknownAgent { name: name.chars().take(80).collect(), nearest: Vec::new() };
                Err(self.with_neighbours(unknown).await.into())
            }
        }
    }

    /// Makes a group.
    ///
    /// # Errors
    /// When the name is taken or invalid, or the store is unavailable.
    pub async fn create_group(&self, session: &Session, name: &str, description: &str) -> Result<GroupName, MailError> {
        check_text("description", description)?;
        let name = GroupName::new(name)?;
        let create = CreateGroup { session: session.clone(), name: name.clone(), description: description.to_owned() };
        let in_doubt = AtomicBool::new(false);
        let made = self.group_change(session, create, |refusal| {
            in_doubt.store(matches!(refusal, Refusal::GroupExists { .. }), Ordering::Relaxed);
            None
        });
        match made.await {
            // If the group is as requested, the attempt whose answer was lost has made it.
            Err(error) if in_doubt.load(Ordering::Relaxed) => {
                let group = self.group(name.as_str()).await?.group;
                (group.created_by == session.agent && group.description == description).then_some(name).ok_or(error)
            }
            other => other.map(|()| name),
        }
    }

    /// Deletes a group. Messages sent to it stay.
    ///
    /// # Errors
    /// When the group does not exist, the group is `everyone`, or the store is unavailable.
    pub async fn delete_group(&self, session: &Session, name: &str) -> Result<GroupName, MailError> {
        let name = GroupName::new(name)?;
        let delete = DeleteGroup { session: session.clone(), name: name.clone() };
        // The attempt whose answer was lost has deleted the group.
        let is_gone = |refusal: &Refusal| matches!(refusal, Refusal::UnknownGroup { .. }).then_some(());
        self.group_change(session, delete, is_gone).await?;
        Ok(name)
    }

    /// Adds an agent or a role to a group; returns whether the member is new.
    ///
    /// # Errors
    /// When the group or agent does not exist, the group is `everyone`, or the store is unavailable.
    pub async fn add_member(&self, session: &Session, group: &str, member: Member) -> Result<bool, MailError> {
        let group = GroupName::new(group)?;
        self.group_change(session, AddMember { session: session.clone(), group, member: bare(member) }, |_| None).await
    }

    /// Removes an agent or a role from a group; returns whether it was a member.
    ///
    /// # Errors
    /// When the group does not exist, the group is `everyone`, or the store is unavailable.
    pub async fn remove_member(&self, session: &Session, group: &str, member: Member) -> Result<bool, MailError> {
        let group = GroupName::new(group)?;
        self.group_change(session, RemoveMember { session: session.clone(), group, member: bare(member) }, |_| None)
            .await
    }

    /// Changes groups. `done` is for a change that is refused once it has been applied: a repetition after a lost answer
    /// then meets its own effect, and `done` maps that refusal to the result.
    async fn group_change<O: crate::store::Operation + Clone>(
        &self,
        session: &Session,
        operation: O,
        done: impl Fn(&Refusal) -> Option<O::Out>,
    ) -> Result<O::Out, MailError> {
        self.seen.mark(&session.agent);
        self.changed(self.retry_uncertain_or(operation, done).await).await
    }

    /// Returns the result of a change, with the nearest names in a refusal.
    async fn changed<T>(&self, result: Result<T, MailError>) -> Result<T, MailError> {
        match result {
            Err(MailError::Refused(refusal)) => Err(self.with_neighbours(refusal).await.into()),
            other => other,
        }
    }

    /// Returns all groups, `everyone` first.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn groups(&self) -> Result<Vec<Group>, MailError> {
        Ok(self.store.query(query::Groups { name: None }).await?)
    }

    /// Returns a group and the agents that it reaches now.
    ///
    /// # Errors
    /// When no group has that name (the error holds the nearest names), or the store is unavailable.
    pub async fn group(&self, name: &str) -> Result<Expanded, MailError> {
        let name = GroupName::new(name.trim_start_matches('@'))?;
        let Some(group) = self.store.query(query::Groups { name: Some(name.clone()) }).await?.pop() else {
            let unknown = Refusal::UnknownGroup { name: name.to_string(), nearest: Vec::new() };
            return Err(self.with_neighbours(unknown).await.into());
        };
        let agents = self.store.query(query::Agents).await?.agents;
        let directory = Directory {
            agents: agents.into_iter().map(|agent| (agent.name, agent.role.to_string())).collect(),
            aliases: Default::default(),
            groups: [(name.to_string(), group.members.clone())].into(),
        };
        let address = Address::parse(&format!("group:{name}"))?;
        let reached = resolve(&address, &directory, &AgentName::system()).map(|(_, agents)| agents);
        Ok(Expanded { group, agents: reached.unwrap_or_default().into_iter().collect() })
    }
}

/// Strips the `@` that people write before a name.
fn bare(member: Member) -> Member {
    Member { kind: member.kind, id: member.id.trim().trim_start_matches('@').to_owned() }
}

pub(crate) fn check_profile(profile: &Profile) -> Result<(), Refusal> {
    check_text("intent", profile.intent.as_deref().unwrap_or_default())?;
    check_text("module", profile.module.as_deref().unwrap_or_default())?;
    check_text("branch", profile.branch.as_deref().unwrap_or_default())?;
    check_text("alias", profile.alias.as_deref().unwrap_or_default())
}

fn check_text(argument: &'static str, text: &str) -> Result<(), Refusal> {
    if text.len() > TEXT_BYTES {
        return Err(Refusal::Argument { argument, why: format!("must have at most {TEXT_BYTES} bytes") });
    }
    if text.contains('\0') {
        return Err(Refusal::Argument { argument, why: "must not contain NUL".to_owned() });
    }
    Ok(())
}

/// Makes a member from a kind and a name, as tools take them.
pub fn member(kind: &str, id: &str) -> Result<Member, Refusal> {
    let kind = match kind {
        "agent" => MemberKind::Agent,
        "role" => MemberKind::Role,
        _ => return Err(Refusal::Argument { argument: "member_type", why: "must be `agent` or `role`".to_owned() }),
    };
    let member = bare(Member { kind, id: id.to_owned() });
    match kind {
        MemberKind::Agent => AgentName::new(&member.id).map(drop)?,
        MemberKind::Role => Role::new(&member.id).map(drop)?,
    }
    Ok(member)
}

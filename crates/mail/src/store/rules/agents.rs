//! The rules of names and groups.

use super::leases::free_leases;
use super::rows::{AgentRow, AgentRows, MessageRows, Ownership};
use super::{append, caller, unknown};
use crate::error::Refusal;
use crate::model::{AgentName, Group, GroupName, Holder, Member, MemberKind, Priority, Role};
use crate::store::change::{AddMember, CreateGroup, DeleteGroup, Enter, Entered, RemoveMember};

/// The role of an agent that named none.
pub(crate) const NO_ROLE: &str = "agent";

pub(super) async fn enter<R: MessageRows>(rows: &mut R, enter: &Enter) -> Result<Entered, R::Fault> {
    if let Some(alias) = &enter.profile.alias
        && let Some(agent) = rows.alias_owner(alias).await?
        && agent != enter.agent
    {
        return Err(Refusal::AliasTaken { alias: alias.clone(), agent }.into());
    }
    let (row, created) = match rows.agent(&enter.agent).await? {
        Some(row) => (row, false),
        None => register(rows, enter).await?,
    };
    let (mut fence, mut taken_from) = (row.owner.fence, None);
    match entry(enter, &row.owner)? {
        Entry::Keep => {}
        Entry::Take => rows.set_owner(&row.id, &Ownership { fence, holder: enter.holder.clone() }).await?,
        Entry::TakeOver(from) => {
            fence += 1;
            rows.set_owner(&row.id, &Ownership { fence, holder: enter.holder.clone() }).await?;
            taken_from = Some(from);
        }
    }
    let seen_at = enter.holder.as_ref().map(|_| rows.now());
    rows.set_profile(&row.id, &enter.profile, seen_at).await?;
    if taken_from.is_some() {
        // The former holder can never confirm its messages in hand. Its waiters learn of the takeover.
        let held = rows.leased_from(&row.id).await?;
        free_leases(rows, &row.id, &enter.agent, held).await?;
        let mut mailbox = rows.mailbox(&row.id).await?;
        append::arrive(rows, &mut mailbox, &enter.agent, Priority::Critical);
        rows.save(&mailbox).await?;
    }
    Ok(Entered { fence, created, taken_from })
}

/// Registers an agent; returns whether it is new.
async fn register<R: AgentRows>(rows: &mut R, enter: &Enter) -> Result<(AgentRow<R::Agent>, bool), R::Fault> {
    let name = enter.agent.as_str();
    if !enter.create {
        return Err(unknown(name).into());
    }
    let limit = rows.limits().agents;
    if rows.count_agents().await? >= limit {
        return Err(Refusal::TooMany { what: "agents", limit }.into());
    }
    if let Some(row) = rows.insert_agent(enter).await? {
        return Ok((row, true));
    }
    Ok((rows.agent(&enter.agent).await?.ok_or_else(|| unknown(name))?, false))
}

/// The effect of entering on a registered name.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    /// Nothing: the caller has the name, or does not want to hold it.
    Keep,
    /// The caller takes a name without a holder.
    Take,
    /// The caller takes the name from that holder, and the fence rises.
    TakeOver(Holder),
}

fn entry(enter: &Enter, owner: &Ownership) -> Result<Entry, Refusal> {
    match (&enter.holder, &owner.holder) {
        (None, _) => Ok(Entry::Keep),
        (Some(_), None) => Ok(Entry::Take),
        (Some(asked), Some(holder)) if asked == holder => Ok(Entry::Keep),
        (Some(_), Some(holder)) if enter.takeover || enter.moved_from.as_ref() == Some(holder) => {
            Ok(Entry::TakeOver(holder.clone()))
        }
        (Some(asked), Some(holder)) => {
            Err(Refusal::Held { agent: enter.agent.clone(), holder: holder.clone(), asked: asked.clone() })
        }
    }
}

/// Refuses unless this holder may rename or remove the agent.
pub(super) fn may_change(agent: &AgentName, owner: &Ownership, asked: &Holder, takeover: bool) -> Result<(), Refusal> {
    match &owner.holder {
        Some(holder) if holder != asked && !takeover => {
            Err(Refusal::Held { agent: agent.clone(), holder: holder.clone(), asked: asked.clone() })
        }
        _ => Ok(()),
    }
}

pub(super) async fn create_group<R: AgentRows>(rows: &mut R, create: &CreateGroup) -> Result<(), R::Fault> {
    caller(rows, &create.session).await?;
    let exists = || Refusal::GroupExists { name: create.name.to_string() };
    if create.name.is_everyone() || rows.group(&create.name).await?.is_some() {
        return Err(exists().into());
    }
    let limit = rows.limits().groups;
    if rows.count_groups().await? >= limit {
        return Err(Refusal::TooMany { what: "groups", limit }.into());
    }
    if !rows.insert_group(create).await? {
        return Err(exists().into());
    }
    Ok(())
}

pub(super) async fn delete_group<R: AgentRows>(rows: &mut R, delete: &DeleteGroup) -> Result<(), R::Fault> {
    caller(rows, &delete.session).await?;
    let group = changeable(rows, &delete.name).await?;
    rows.remove_group(&group).await
}

pub(super) async fn add_member<R: AgentRows>(rows: &mut R, add: &AddMember) -> Result<bool, R::Fault> {
    caller(rows, &add.session).await?;
    let agent = check_member(&add.member)?;
    let group = changeable(rows, &add.group).await?;
    if let Some(agent) = agent
        && rows.agent(&agent).await?.is_none()
    {
        return Err(unknown(&add.member.id).into());
    }
    let (count, is_member) = rows.membership(&group, &add.member).await?;
    if is_member {
        return Ok(false);
    }
    let limit = rows.limits().groups;
    if count >= limit {
        return Err(Refusal::TooMany { what: "members", limit }.into());
    }
    rows.insert_member(&group, &add.member).await?;
    Ok(true)
}

pub(super) async fn remove_member<R: AgentRows>(rows: &mut R, remove: &RemoveMember) -> Result<bool, R::Fault> {
    caller(rows, &remove.session).await?;
    let group = changeable(rows, &remove.group).await?;
    rows.remove_member(&group, &remove.member).await
}

async fn changeable<R: AgentRows>(rows: &mut R, name: &GroupName) -> Result<R::Group, R::Fault> {
    if name.is_everyone() {
        return Err(Refusal::GroupProtected { name: name.to_string() }.into());
    }
    let found = rows.group(name).await?;
    found.ok_or_else(|| Refusal::UnknownGroup { name: name.to_string(), nearest: Vec::new() }.into())
}

/// Checks a member's name; returns the agent if the member is one.
fn check_member(member: &Member) -> Result<Option<AgentName>, Refusal> {
    match member.kind {
        MemberKind::Agent => Ok(Some(AgentName::new(&member.id)?)),
        MemberKind::Role => Role::new(&member.id).map(|_| None).map_err(Refusal::from),
    }
}

/// Returns the group of all agents.
pub(crate) fn everyone(agents: u64) -> Group {
    Group {
        name: GroupName::everyone(),
        description: "all agents".to_owned(),
        created_at: 0,
        created_by: AgentName::system(),
        members: Vec::new(),
        member_count: agents,
    }
}

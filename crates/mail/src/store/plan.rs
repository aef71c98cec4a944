//! The rules of a change that are the same in every engine: whom a message is for, whether somebody may, what a report
//! says. Pure functions over what the engine has looked up.

use std::collections::BTreeSet;

use super::change::{Append, Enter};
use crate::error::Refusal;
use crate::model::address::{Directory, resolve};
use crate::model::ids::EVERYONE;
use crate::model::{
    AgentName, Group, GroupName, Holder, Limits, Member, MemberKind, MessageId, Millis, Resolution, ResolvedKind, Role,
    Session,
};

/// Whom a message is for.
///
/// # Errors
/// When an address names nobody, or the recipients are none or too many.
pub fn recipients(
    append: &Append,
    directory: &Directory,
    limits: &Limits,
) -> Result<(Vec<Resolution>, BTreeSet<AgentName>), Refusal> {
    let mut resolved = Vec::with_capacity(append.to.len());
    let mut all = BTreeSet::new();
    for address in &append.to {
        let Some((how, whom)) = resolve(address, directory, &append.sender.agent) else {
            return Err(Refusal::UnknownRecipient { address: address.written.clone(), nearest: Vec::new() });
        };
        resolved.push(how);
        all.extend(whom);
    }
    if let Some(among) = &append.among {
        all.retain(|agent| among.contains(agent));
    }
    all.retain(|agent| !append.exclude.contains(agent));
    if all.is_empty() {
        let written: Vec<&str> = append.to.iter().map(|address| address.written.as_str()).collect();
        return Err(Refusal::NoRecipients { address: written.join(", ") });
    }
    let is_broadcast = resolved.iter().any(|how| how.kind == ResolvedKind::Group && how.name == EVERYONE);
    if is_broadcast && all.len() > limits.broadcast_max {
        return Err(Refusal::BroadcastTooWide { count: all.len(), limit: limits.broadcast_max });
    }
    if all.len() > limits.recipients {
        return Err(Refusal::TooManyRecipients { count: all.len(), limit: limits.recipients });
    }
    Ok((resolved, all))
}

/// Whether text and metadata are within bounds.
///
/// # Errors
/// When they are not.
pub fn check_size(content: &str, metadata: &str, limits: &Limits) -> Result<(), Refusal> {
    if content.len() > limits.body_bytes {
        return Err(Refusal::BodyTooLarge { bytes: content.len(), limit: limits.body_bytes });
    }
    if metadata.len() > limits.metadata_bytes {
        return Err(Refusal::MetadataTooLarge { bytes: metadata.len(), limit: limits.metadata_bytes });
    }
    Ok(())
}

/// The names that an append has to look up in its directory.
pub fn names(append: &Append) -> BTreeSet<&str> {
    append.to.iter().flat_map(|address| address.names()).collect()
}

/// Whether an append needs all agents.
pub fn needs_everyone(append: &Append) -> bool {
    append.to.iter().any(|address| address.name == EVERYONE)
}

/// Who holds a name, as the engine has it.
#[derive(Debug, Clone, Default)]
pub struct Held {
    pub fence: u64,
    pub holder: Option<Holder>,
}

/// Whether the session still has its name.
///
/// # Errors
/// When the name was taken over since.
pub fn check_fence(session: &Session, held: &Held) -> Result<(), Refusal> {
    if session.fence == held.fence {
        return Ok(());
    }
    Err(Refusal::Fenced { agent: session.agent.clone(), holder: held.holder.clone() })
}

/// What entering does to a name that is registered.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    /// Nothing: it has it, or does not want to hold it.
    Keep,
    /// It gets it: nobody had it.
    Take,
    /// It takes it from that one, and the token rises.
    TakeOver(Holder),
}

/// What entering does to a name.
///
/// # Errors
/// When another holds it and it was not said to take it over.
pub fn entry(enter: &Enter, held: &Held) -> Result<Entry, Refusal> {
    match (&enter.holder, &held.holder) {
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

/// What a message counts in its mailbox.
pub fn size(content: &str, metadata: &str) -> u64 {
    /// Besides what the sender wrote.
    const OVERHEAD: u64 = 256;
    (content.len() + metadata.len()) as u64 + OVERHEAD
}

/// A duration as stores count time.
pub fn millis(duration: std::time::Duration) -> Millis {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The group of all agents, when there are so many.
pub fn everyone(agents: u64) -> Group {
    Group {
        name: GroupName::everyone(),
        description: "all agents".to_owned(),
        created_at: 0,
        created_by: AgentName::system(),
        members: Vec::new(),
        member_count: agents,
    }
}

/// The role of an agent that gave none.
pub const NO_ROLE: &str = "agent";

/// Whether a member has a legal name.
///
/// # Errors
/// When it has none.
pub fn check_member(member: &Member) -> Result<(), Refusal> {
    match member.kind {
        MemberKind::Agent => AgentName::new(&member.id).map(drop)?,
        MemberKind::Role => Role::new(&member.id).map(drop)?,
    }
    Ok(())
}

/// What a report about a dead message says.
pub fn report(message: &MessageId, recipient: &AgentName, attempts: u32) -> String {
    format!(
        "Your message {message} to {recipient} was handed out {attempts} times and never confirmed, so it is dead: \
         {recipient} took it and ended before its next call, each time. Nothing more happens with it. If it still \
         matters, see delivery_status of {message}, and send it again."
    )
}

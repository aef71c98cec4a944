//! The rules by which a message enters mailboxes: sent, imported, or as a report.

use std::collections::BTreeSet;

use super::finished::finish;
use super::rows::{DeliveryRow, Mailbox, MessageRows};
use super::{caller, unknown};
use crate::error::Refusal;
use crate::model::address::{Directory, resolve};
use crate::model::ids::EVERYONE;
use crate::model::{AgentName, DeliveryState, Limits, MessageId, Millis, Priority, Resolution, ResolvedKind};
use crate::store::change::{Append, Appended, Import, Imported, Recipient};
use crate::store::message::NewMessage;

/// A mailbox that a message goes into.
pub(super) struct Target<A> {
    pub(super) agent: AgentName,
    pub(super) seen_at: Millis,
    pub(super) mailbox: Mailbox<A>,
}

pub(super) async fn append<R: MessageRows>(rows: &mut R, append: &Append) -> Result<Appended, R::Fault> {
    let now = rows.now();
    check_size(&append.content, &append.metadata, rows.limits())?;
    // First: only the caller knows the id, and a caller that repeats a lost answer may have lost its name since.
    if rows.is_known(&append.id).await? {
        return replay(rows, &append.id).await;
    }
    let caller = caller(rows, &append.sender).await?;
    let sender = &append.sender.agent;
    if let Some(key) = &append.key
        && let Some((message, hash)) = rows.with_key(sender, key).await?
    {
        if hash != append.hash {
            return Err(Refusal::KeyConflict { key: key.clone(), message }.into());
        }
        return replay(rows, &message).await;
    }
    let thread = match &append.reply_to {
        None => append.id.clone(),
        Some(id) => {
            let unknown = || Refusal::UnknownMessage { id: id.clone(), agent: sender.clone() };
            rows.thread_of(id, sender).await?.ok_or_else(unknown)?
        }
    };
    let directory = rows.directory(append).await?;
    let (resolved, whom) = recipients(append, &directory, rows.limits())?;
    let bytes = size(&append.content, &append.metadata);
    let (mut open, mut full) = (Vec::with_capacity(whom.len()), Vec::new());
    for agent in whom {
        let target = target(rows, agent).await?;
        if has_room(&target.mailbox, bytes, rows.limits()) {
            open.push(target);
        } else {
            full.push(target.agent);
        }
    }
    if open.is_empty() {
        return Err(Refusal::MailboxFull { agents: full }.into());
    }
    let (_, sent) = deliver(rows, &NewMessage::sent(append, &thread, now), open).await?;
    if let Some(id) = &append.reply_to {
        read(rows, &caller.id, id).await?;
    }
    Ok(Appended { id: append.id.clone(), thread, at: now, resolved, sent, full, is_replay: false })
}

/// Marks a waiting message as read: its recipient has answered it.
async fn read<R: MessageRows>(rows: &mut R, agent: &R::Agent, id: &MessageId) -> Result<(), R::Fault> {
    let Some(one) = rows.delivery(agent, id).await?.filter(|one| one.state.is_waiting()) else { return Ok(()) };
    let mut mailbox = rows.mailbox(agent).await?;
    finish(rows, &mut mailbox, &one, DeliveryState::Read, None).await?;
    rows.save(&mailbox).await
}

/// Returns the first answer to an append of this message. A purged message has no recipients left.
async fn replay<R: MessageRows>(rows: &mut R, id: &MessageId) -> Result<Appended, R::Fault> {
    let (thread, at) = rows.thread_and_time(id).await?.unwrap_or_else(|| (id.clone(), 0));
    let sent = rows.recipients(id).await?;
    Ok(Appended { id: id.clone(), thread, at, resolved: Vec::new(), sent, full: Vec::new(), is_replay: true })
}

pub(super) async fn import<R: MessageRows>(rows: &mut R, import: &Import) -> Result<Imported, R::Fault> {
    check_size(&import.content, &import.metadata, rows.limits())?;
    if rows.is_known(&import.id).await? {
        return Ok(Imported { is_new: false, stored: Vec::new(), full: Vec::new() });
    }
    let bytes = size(&import.content, &import.metadata);
    let (mut open, mut full, mut read) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (agent, is_read) in &import.recipients {
        let target = target(rows, agent.clone()).await?;
        if !*is_read && !has_room(&target.mailbox, bytes, rows.limits()) {
            full.push(target.agent);
            continue;
        }
        if *is_read {
            read.insert(agent.clone());
        }
        open.push(target);
    }
    let parent = match &import.reply_to {
        Some(id) => rows.thread_and_time(id).await?,
        None => None,
    };
    let thread = parent.map_or_else(|| import.id.clone(), |(thread, _)| thread);
    let stored = open.iter().map(|target| target.agent.clone()).collect();
    let (message, sent) = deliver(rows, &NewMessage::imported(import, &thread), open).await?;
    for recipient in sent.into_iter().filter(|to| read.contains(&to.agent)) {
        let Target { mut mailbox, .. } = target(rows, recipient.agent).await?;
        let one = DeliveryRow {
            agent: mailbox.agent.clone(),
            seq: recipient.seq,
            message: message.clone(),
            priority: import.priority,
            attempts: 0,
            bytes,
            state: DeliveryState::Stored,
            fetched_at: None,
            token: None,
        };
        finish(rows, &mut mailbox, &one, DeliveryState::Read, None).await?;
        rows.save(&mailbox).await?;
    }
    Ok(Imported { is_new: true, stored, full })
}

/// Returns an agent's mailbox.
pub(super) async fn target<R: MessageRows>(rows: &mut R, agent: AgentName) -> Result<Target<R::Agent>, R::Fault> {
    let row = rows.agent(&agent).await?.ok_or_else(|| unknown(agent.as_str()))?;
    let mailbox = rows.mailbox(&row.id).await?;
    Ok(Target { agent, seen_at: row.seen_at, mailbox })
}

/// Puts a message into mailboxes. The caller has checked everything.
pub(super) async fn deliver<R: MessageRows>(
    rows: &mut R,
    message: &NewMessage<'_>,
    to: Vec<Target<R::Agent>>,
) -> Result<(R::Message, Vec<Recipient>), R::Fault> {
    let number = rows.insert_message(message).await?;
    let mut sent = Vec::with_capacity(to.len());
    for Target { agent, seen_at, mut mailbox } in to {
        mailbox.seq += 1;
        mailbox.bytes += message.size();
        *mailbox.free(message.priority) += 1;
        arrive(rows, &mut mailbox, &agent, message.priority);
        rows.insert_delivery(&mailbox, &number, message).await?;
        rows.save(&mailbox).await?;
        sent.push(Recipient { agent, seq: mailbox.seq, seen_at });
    }
    Ok((number, sent))
}

/// Notes that another message is free to hand out. The caller saves the mailbox.
pub(super) fn arrive<R: MessageRows>(
    rows: &mut R,
    mailbox: &mut Mailbox<R::Agent>,
    agent: &AgentName,
    priority: Priority,
) {
    mailbox.version += 1;
    rows.note_arrival(agent, priority);
}

fn has_room<A>(mailbox: &Mailbox<A>, bytes: u64, limits: &Limits) -> bool {
    mailbox.waiting() < limits.mailbox_messages && mailbox.bytes + bytes <= limits.mailbox_bytes
}

/// Returns the recipients of a message, and how each address was resolved.
///
/// # Errors
/// When an address is unknown, or there are no recipients or too many.
pub(crate) fn recipients(
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

/// Checks the size of text and metadata.
///
/// # Errors
/// When either is too long.
pub(crate) fn check_size(content: &str, metadata: &str, limits: &Limits) -> Result<(), Refusal> {
    if content.len() > limits.body_bytes {
        return Err(Refusal::BodyTooLarge { bytes: content.len(), limit: limits.body_bytes });
    }
    if metadata.len() > limits.metadata_bytes {
        return Err(Refusal::MetadataTooLarge { bytes: metadata.len(), limit: limits.metadata_bytes });
    }
    Ok(())
}

/// Returns true if resolving the recipients needs all agents.
pub(crate) fn needs_everyone(append: &Append) -> bool {
    append.to.iter().any(|address| address.name == EVERYONE)
}

/// Returns the bytes that a message counts in its mailbox.
pub(crate) fn size(content: &str, metadata: &str) -> u64 {
    const OVERHEAD: u64 = 256;
    (content.len() + metadata.len()) as u64 + OVERHEAD
}

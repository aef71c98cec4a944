//! The rules of leases: handing out, confirming, settling, freeing when a session ends, handing back.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use super::append::{Target, arrive, deliver};
use super::rows::{Candidate, DeliveryOf, Mailbox, MessageRows, Taken};
use super::{caller, millis};
use crate::model::order::pick;
use crate::model::{AgentName, DeliveryState, MessageId, Priority, Session, SessionId, Settled};
use crate::store::change::{Claim, Claimed, HandBack, Release, Released, Settle};
use crate::store::message::{NewMessage, Reason};

pub(super) async fn claim<R: MessageRows>(rows: &mut R, claim: &Claim) -> Result<Claimed, R::Fault> {
    let confirmed = match claim.confirm {
        true => confirm(rows, &claim.session, &claim.unseen, Some(claim.token)).await?,
        false => 0,
    };
    let caller = caller(rows, &claim.session).await?;
    let mut mailbox = rows.mailbox(&caller.id).await?;
    let mut taken = taken_before(rows, claim, &mailbox).await?;
    if taken.is_empty() {
        taken = take(rows, claim, &mut mailbox).await?;
    }
    let messages = rows.read(&caller.id, taken).await?;
    let below = usize::from(claim.floor.least().level());
    let below_floor = mailbox.free[..below].iter().sum();
    Ok(Claimed { messages, remaining: mailbox.free.iter().sum(), below_floor, confirmed })
}

/// What the same call has leased before: its caller may never have seen the answer.
async fn taken_before<R: MessageRows>(
    rows: &mut R,
    claim: &Claim,
    mailbox: &Mailbox<R::Agent>,
) -> Result<Vec<Taken<R::Message>>, R::Fault> {
    if mailbox.leased == 0 {
        return Ok(Vec::new());
    }
    let held = rows.leased_to(&claim.session.id, Some(&mailbox.agent), Some(claim.token)).await?;
    let taken = held.into_iter().map(|one| Taken { seq: one.seq, message: one.message, attempt: one.attempts });
    Ok(taken.collect())
}

/// Leases the next messages.
async fn take<R: MessageRows>(
    rows: &mut R,
    claim: &Claim,
    mailbox: &mut Mailbox<R::Agent>,
) -> Result<Vec<Taken<R::Message>>, R::Fault> {
    let mut candidates: Vec<Candidate<R::Message>> = Vec::new();
    for priority in Priority::ALL {
        if claim.floor.passes(priority) && *mailbox.free(priority) > 0 {
            candidates.extend(rows.candidates(&mailbox.agent, priority, claim.max).await?);
        }
    }
    let aging = millis(rows.limits().aging);
    let (mut bytes, mut taken) = (0, Vec::new());
    for one in pick(candidates, |one| one.position, rows.now(), aging, claim.max) {
        bytes += one.bytes;
        if !taken.is_empty() && bytes > claim.max_bytes {
            break;
        }
        *mailbox.free(one.position.priority) -= 1;
        mailbox.leased += 1;
        taken.push(one.taken);
    }
    if !taken.is_empty() {
        rows.lease(&mailbox.agent, &taken, claim).await?;
        rows.save(mailbox).await?;
    }
    Ok(taken)
}

/// Marks as read what the session has in hand, except the messages of the calls `own` and `unseen`.
pub(super) async fn confirm<R: MessageRows>(
    rows: &mut R,
    session: &Session,
    unseen: &[u64],
    own: Option<u64>,
) -> Result<u64, R::Fault> {
    let caller = caller(rows, session).await?;
    let mut mailbox = rows.mailbox(&caller.id).await?;
    if mailbox.leased == 0 {
        return Ok(0);
    }
    let is_unseen = |token: Option<u64>| token == own || token.is_some_and(|token| unseen.contains(&token));
    let mut count = 0;
    for one in rows.leased_to(&session.id, Some(&caller.id), None).await?.iter().filter(|one| !is_unseen(one.token)) {
        finish(rows, &mut mailbox, one, DeliveryState::Read, None).await?;
        count += 1;
    }
    rows.save(&mailbox).await?;
    Ok(count)
}

/// Moves a delivery forward to a state in which it no longer waits. The caller saves the mailbox.
pub(super) async fn finish<R: MessageRows>(
    rows: &mut R,
    mailbox: &mut Mailbox<R::Agent>,
    one: &DeliveryOf<R>,
    state: DeliveryState,
    note: Option<&str>,
) -> Result<(), R::Fault> {
    if one.state.is_waiting() {
        let counter = if one.token.is_some() { &mut mailbox.leased } else { mailbox.free(one.priority) };
        *counter = counter.saturating_sub(1);
        mailbox.bytes = mailbox.bytes.saturating_sub(one.bytes);
    }
    rows.finish(one, state, note).await
}

pub(super) async fn settle<R: MessageRows>(rows: &mut R, settle: &Settle) -> Result<Vec<Settled>, R::Fault> {
    confirm(rows, &settle.session, &settle.unseen, None).await?;
    let caller = caller(rows, &settle.session).await?;
    let mut mailbox = rows.mailbox(&caller.id).await?;
    let mut settled = Vec::with_capacity(settle.ids.len());
    for id in &settle.ids {
        let state = match rows.delivery(&caller.id, id).await? {
            None => None,
            // Another session of this agent may have the message in hand; it is settled anyway.
            Some(one) if one.state <= DeliveryState::Read => {
                let state = settle.outcome.state();
                finish(rows, &mut mailbox, &one, state, settle.note.as_deref()).await?;
                Some(state)
            }
            Some(one) => Some(one.state),
        };
        settled.push(Settled { id: id.clone(), state });
    }
    rows.save(&mailbox).await?;
    Ok(settled)
}

pub(super) async fn release<R: MessageRows>(rows: &mut R, release: &Release) -> Result<Released, R::Fault> {
    let mut released = Released::default();
    for session in &release.sessions {
        let held = rows.leased_to(session, None, release.token).await?;
        for agent in held.into_iter().map(|one| one.agent).collect::<BTreeSet<_>>() {
            let name = rows.agent_name(&agent).await?;
            let one = free_leases(rows, &agent, &name, Some(session), release.token).await?;
            released.freed += one.freed;
            released.dead.extend(one.dead);
        }
    }
    Ok(released)
}

/// Frees the leases of a mailbox, optionally only those of one session or one call. After too many attempts a message
/// becomes dead instead.
pub(super) async fn free_leases<R: MessageRows>(
    rows: &mut R,
    agent: &R::Agent,
    name: &AgentName,
    session: Option<&SessionId>,
    token: Option<u64>,
) -> Result<Released, R::Fault> {
    let mut mailbox = rows.mailbox(agent).await?;
    let cap = rows.limits().attempts;
    let mut released = Released::default();
    let (mut highest, mut dead) = (None, Vec::new());
    for one in rows.leased_from(agent, session, token).await? {
        if one.attempts >= cap {
            finish(rows, &mut mailbox, &one, DeliveryState::Dead, None).await?;
            dead.push(one);
        } else {
            put_back(rows, &mut mailbox, &one, one.attempts).await?;
            highest = highest.max(Some(one.priority));
            released.freed += 1;
        }
    }
    if let Some(priority) = highest {
        arrive(rows, &mut mailbox, name, priority);
    }
    rows.save(&mailbox).await?;
    for one in dead {
        let reason = Reason::NeverConfirmed { attempts: one.attempts };
        released.dead.push((report(rows, &one, name, reason).await?, name.clone()));
    }
    Ok(released)
}

/// Ends a lease; the delivery waits again. The caller saves the mailbox.
async fn put_back<R: MessageRows>(
    rows: &mut R,
    mailbox: &mut Mailbox<R::Agent>,
    one: &DeliveryOf<R>,
    attempts: u32,
) -> Result<(), R::Fault> {
    mailbox.leased = mailbox.leased.saturating_sub(1);
    *mailbox.free(one.priority) += 1;
    rows.put_back(one, attempts).await
}

/// Reports to a sender that a message is dead; returns the report's id. A report goes into a full mailbox too: it
/// matters more than the limit.
pub(super) async fn report<R: MessageRows>(
    rows: &mut R,
    one: &DeliveryOf<R>,
    recipient: &AgentName,
    reason: Reason,
) -> Result<MessageId, R::Fault> {
    let (id, sender, thread) = rows.origin(&one.message).await?;
    let Some(to) = rows.agent(&sender).await? else { return Ok(id) };
    let mailbox = rows.mailbox(&to.id).await?;
    let message = NewMessage::report(&id, &thread, (&sender, recipient), reason, rows.now());
    deliver(rows, &message, vec![Target { agent: sender.clone(), seen_at: to.seen_at, mailbox }]).await?;
    Ok(id)
}

pub(super) async fn hand_back<R: MessageRows>(rows: &mut R, back: &HandBack) -> Result<(), R::Fault> {
    let mut mailboxes: BTreeMap<R::Agent, (Mailbox<R::Agent>, Priority)> = BTreeMap::new();
    for one in rows.leased_to(&back.session, None, Some(back.token)).await? {
        let (mailbox, highest) = match mailboxes.entry(one.agent.clone()) {
            btree_map::Entry::Occupied(entry) => entry.into_mut(),
            btree_map::Entry::Vacant(entry) => entry.insert((rows.mailbox(&one.agent).await?, one.priority)),
        };
        *highest = one.priority.max(*highest);
        put_back(rows, mailbox, &one, one.attempts.saturating_sub(1)).await?;
    }
    for (agent, (mut mailbox, highest)) in mailboxes {
        let name = rows.agent_name(&agent).await?;
        arrive(rows, &mut mailbox, &name, highest);
        rows.save(&mailbox).await?;
    }
    Ok(())
}

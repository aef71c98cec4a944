//! The rules of leases: handing out, confirming, settling, freeing when a session ends, handing back.

use std::collections::{BTreeMap, btree_map};

use super::append::{Target, arrive, deliver};
use super::finished::finish;
use super::reminders::{InHand, is_told, leased_row, retake_in_hand, settle_earlier};
use super::rows::{Candidate, DeliveryOf, LeasedRow, Mailbox, MessageRows};
use super::{call_of, caller, millis};
use crate::model::order::pick;
use crate::model::{AgentName, DeliveryState, MessageId, Priority, Session, Settlement};
use crate::store::change::{Claim, ClaimResult, Earlier, HandBack, LeaseSelection, Release, Released, Settle};
use crate::store::message::{NewMessage, Reason};

pub(super) async fn claim<R: MessageRows>(rows: &mut R, claim: &Claim) -> Result<ClaimResult, R::Fault> {
    let caller = caller(rows, &claim.session).await?;
    let mut mailbox = rows.mailbox(&caller.id).await?;
    let before = mailbox.clone();
    let held = match mailbox.leased {
        0 => Vec::new(),
        _ => rows.leased_to(&claim.session.id, Some(&caller.id)).await?,
    };
    let (mut reminders, mut untold) = (Vec::new(), Vec::new());
    let mut taken;
    if claim.earlier == Earlier::Again {
        taken = retake_in_hand(rows, claim, &held).await?;
    } else {
        // The messages that the same call has leased before: its caller may never have seen the answer.
        taken = held.iter().filter(|one| one.token == Some(claim.token)).map(leased_row::<R>).collect();
        InHand { reminders, untold } = settle_earlier(rows, claim, &mut mailbox, held).await?;
        if taken.is_empty() {
            taken = take(rows, claim, &mut mailbox).await?;
        }
        if mailbox != before {
            rows.save(&mailbox).await?;
        }
    }
    let mut last_in_hand = None;
    if let Some(last) = untold.last().filter(|_| taken.is_empty() && reminders.is_empty()) {
        last_in_hand = rows.read(&caller.id, vec![leased_row::<R>(last)]).await?.pop().map(|one| one.message.id);
    }
    let messages = rows.read(&caller.id, taken).await?;
    let below = usize::from(claim.floor.least().level());
    let below_floor = mailbox.free[..below].iter().sum();
    let (remaining, in_hand) = (mailbox.free.iter().sum(), untold.len() as u64);
    Ok(ClaimResult { messages, remaining, below_floor, reminders, in_hand, last_in_hand })
}

/// Leases the next messages. The caller saves the mailbox.
async fn take<R: MessageRows>(
    rows: &mut R,
    claim: &Claim,
    mailbox: &mut Mailbox<R::Agent>,
) -> Result<Vec<LeasedRow<R::Message>>, R::Fault> {
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
    }
    Ok(taken)
}

/// Marks the session's messages in hand as read.
pub(super) async fn confirm<R: MessageRows>(rows: &mut R, session: &Session) -> Result<u64, R::Fault> {
    let caller = caller(rows, session).await?;
    let mut mailbox = rows.mailbox(&caller.id).await?;
    let held = match mailbox.leased {
        0 => Vec::new(),
        _ => rows.leased_to(&session.id, Some(&caller.id)).await?,
    };
    for one in &held {
        finish(rows, &mut mailbox, one, DeliveryState::Read, None).await?;
    }
    rows.save(&mailbox).await?;
    Ok(held.len() as u64)
}

pub(super) async fn settle<R: MessageRows>(rows: &mut R, settle: &Settle) -> Result<Vec<Settlement>, R::Fault> {
    let caller = caller(rows, &settle.session).await?;
    let mut mailbox = rows.mailbox(&caller.id).await?;
    let mut settled = Vec::with_capacity(settle.ids.len());
    let state = settle.outcome.state();
    for id in &settle.ids {
        let state = match rows.delivery(&caller.id, id).await? {
            None => None,
            // Another session of this agent may have the message in hand; it is settled anyway.
            Some(one) if one.state <= DeliveryState::Read && one.state < state => {
                finish(rows, &mut mailbox, &one, state, settle.note.as_deref()).await?;
                Some(state)
            }
            Some(one) => Some(one.state),
        };
        settled.push(Settlement { id: id.clone(), state });
    }
    rows.save(&mailbox).await?;
    Ok(settled)
}

pub(super) async fn release<R: MessageRows>(rows: &mut R, release: &Release) -> Result<Released, R::Fault> {
    let mut released = Released::default();
    for session in &release.sessions {
        let held = rows.leased_to(session, None).await?;
        let mut by_agent: BTreeMap<R::Agent, Vec<DeliveryOf<R>>> = BTreeMap::new();
        held.into_iter().for_each(|one| by_agent.entry(one.agent.clone()).or_default().push(one));
        for (agent, held) in by_agent {
            let name = rows.agent_name(&agent).await?;
            let held = select_messages(rows, &agent, held, &release.which).await?;
            let one = free_leases(rows, &agent, &name, held).await?;
            released.freed += one.freed;
            released.dead.extend(one.dead);
        }
    }
    Ok(released)
}

/// Selects messages in hand.
async fn select_messages<R: MessageRows>(
    rows: &mut R,
    agent: &R::Agent,
    mut held: Vec<DeliveryOf<R>>,
    which: &LeaseSelection,
) -> Result<Vec<DeliveryOf<R>>, R::Fault> {
    let is_of = |one: &DeliveryOf<R>, call: u64| one.token.map(call_of) == Some(call);
    match which {
        LeaseSelection::All => {}
        LeaseSelection::Ended => {
            let mut mailbox = rows.mailbox(agent).await?;
            let (told, untold): (Vec<_>, Vec<_>) = held.into_iter().partition(|one| one.token.is_some_and(is_told));
            for one in &told {
                finish(rows, &mut mailbox, one, DeliveryState::Read, None).await?;
            }
            rows.save(&mailbox).await?;
            held = untold;
        }
        LeaseSelection::Call(call) => held.retain(|one| is_of(one, *call)),
        LeaseSelection::After(id) => {
            if let Some(last) = rows.delivery(agent, id).await? {
                let call = last.token.map(call_of);
                held.retain(|one| {
                    one.fetched_at >= last.fetched_at && (call.is_none() || one.token.map(call_of) != call)
                });
            }
        }
    }
    Ok(held)
}

/// Ends leases of a mailbox. After too many attempts a message becomes dead instead.
pub(super) async fn free_leases<R: MessageRows>(
    rows: &mut R,
    agent: &R::Agent,
    name: &AgentName,
    held: Vec<DeliveryOf<R>>,
) -> Result<Released, R::Fault> {
    let mut mailbox = rows.mailbox(agent).await?;
    let cap = rows.limits().attempts;
    let mut released = Released::default();
    let (mut highest, mut dead) = (None, Vec::new());
    for one in held {
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
    let held = rows.leased_to(&back.session, None).await?;
    for one in held.into_iter().filter(|one| one.token.map(call_of) == Some(back.token)) {
        if one.token != Some(back.token) {
            // The call only reminded of it. Its token is cleared, so that handing back twice has no further effect.
            rows.set_token(&one, 0, false).await?;
            continue;
        }
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

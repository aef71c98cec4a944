//! Reminders of messages whose answer the agent may never have seen. Clients drop calls without notice. A message that
//! was handed to such a call stays in hand until the agent answers it, settles it, or is reminded of it in one line. A
//! check reminds of each message at most once, and so does a loss of memory. The next call that receives messages then
//! marks it as read.
//!
//! These flags are stored in the upper bits of the lease's token, so they need no column and survive a restart.

use super::finished::finish;
use super::rows::{DeliveryOf, LeasedRow, Mailbox, MessageRows};
use crate::model::{DeliveryState, Reminder};
use crate::store::change::{Claim, Earlier, Retell};

/// Set when a call reminded the agent of the message.
const REMINDED: u64 = 1 << 62;
/// Set when the agent was reminded of the message after it lost its memory.
const RETOLD: u64 = 1 << 61;

/// The maximum number of messages that one call reminds of. The others stay in hand for the next one.
const REMINDERS_MAX: usize = 50;
/// The maximum number of messages that a session keeps in hand; more than that, and the oldest count as read.
const IN_HAND_MAX: usize = 500;
/// The shown part of a message in a reminder, in characters.
const BEGINS: usize = 120;

/// Returns the call that a lease's token names, without the flags.
pub(crate) fn call_of(token: u64) -> u64 {
    token & (RETOLD - 1)
}

/// Returns true if the agent was reminded of a message in hand.
pub(super) fn is_told(token: u64) -> bool {
    token != call_of(token)
}

/// The messages in hand after [`settle_earlier`].
pub(super) struct InHand<R: MessageRows> {
    /// Reminders of this call.
    pub(super) reminders: Vec<Reminder>,
    /// Messages without a reminder so far.
    pub(super) untold: Vec<DeliveryOf<R>>,
}

/// Applies the claim's treatment to the messages of earlier calls. The caller saves the mailbox.
pub(super) async fn settle_earlier<R: MessageRows>(
    rows: &mut R,
    claim: &Claim,
    mailbox: &mut Mailbox<R::Agent>,
    held: Vec<DeliveryOf<R>>,
) -> Result<InHand<R>, R::Fault> {
    let (mut told, mut untold) = (Vec::new(), Vec::new());
    for one in held {
        let token = one.token.unwrap_or_default();
        match call_of(token) {
            // A repetition of this call, which had given the reminder.
            call if call == claim.token && is_told(token) => told.push(one),
            call if call == claim.token || claim.unseen.contains(&call) => {}
            _ if claim.earlier != Earlier::Leave && is_told(token) => {
                finish(rows, mailbox, &one, DeliveryState::Read, None).await?;
            }
            _ => untold.push(one),
        }
    }
    untold.sort_by_key(|one| (one.fetched_at, one.seq));
    match claim.earlier {
        Earlier::Remind => {
            let later = untold.split_off(untold.len().min(REMINDERS_MAX));
            for one in std::mem::replace(&mut untold, later) {
                rows.set_token(&one, claim.token | REMINDED, true).await?;
                told.push(one);
            }
        }
        Earlier::Settle => {
            let excess = untold.len().saturating_sub(IN_HAND_MAX);
            for one in untold.drain(..excess) {
                finish(rows, mailbox, &one, DeliveryState::Read, None).await?;
            }
        }
        Earlier::Leave | Earlier::Again => {}
    }
    Ok(InHand { reminders: reminders(rows, &told).await?, untold })
}

/// Takes the messages in hand for a claim that hands them out again, oldest first.
pub(super) async fn retake_in_hand<R: MessageRows>(
    rows: &mut R,
    claim: &Claim,
    held: &[DeliveryOf<R>],
) -> Result<Vec<LeasedRow<R::Message>>, R::Fault> {
    let is_in_flight = |one: &&DeliveryOf<R>| one.token.is_some_and(|token| claim.unseen.contains(&call_of(token)));
    let (mut bytes, mut taken) = (0, Vec::new());
    for one in held.iter().filter(|one| !is_in_flight(one)).take(claim.max) {
        bytes += one.bytes;
        if !taken.is_empty() && bytes > claim.max_bytes {
            break;
        }
        rows.set_token(one, claim.token | REMINDED, true).await?;
        taken.push(leased_row::<R>(one));
    }
    Ok(taken)
}

pub(super) async fn list_in_hand<R: MessageRows>(rows: &mut R, retell: &Retell) -> Result<Vec<Reminder>, R::Fault> {
    let Some(agent) = rows.agent(&retell.agent).await? else { return Ok(Vec::new()) };
    let is_lost = !retell.lost.is_empty();
    let mut told = Vec::new();
    for one in rows.leased_to(&retell.session, Some(&agent.id)).await? {
        let token = one.token.unwrap_or_default();
        if (token & RETOLD != 0) != is_lost {
            continue;
        }
        if !is_lost {
            rows.set_token(&one, token | RETOLD, false).await?;
            told.push(one);
            continue;
        }
        let (id, ..) = rows.origin(&one.message).await?;
        if retell.lost.contains(&id) {
            rows.set_token(&one, token & !RETOLD, false).await?;
        }
    }
    reminders(rows, &told).await
}

async fn reminders<R: MessageRows>(rows: &mut R, told: &[DeliveryOf<R>]) -> Result<Vec<Reminder>, R::Fault> {
    let mut reminders = Vec::with_capacity(told.len());
    for one in told {
        let now = rows.now();
        let read = rows.read(&one.agent, vec![leased_row::<R>(one)]).await?;
        reminders.extend(read.into_iter().map(|handed| Reminder {
            begins: handed.message.content.chars().take(BEGINS + 1).collect(),
            id: handed.message.id,
            from: handed.message.from,
            priority: handed.message.priority,
            ago: one.fetched_at.map_or(0, |at| now.saturating_sub(at)),
        }));
    }
    Ok(reminders)
}

pub(super) fn leased_row<R: MessageRows>(one: &DeliveryOf<R>) -> LeasedRow<R::Message> {
    LeasedRow { seq: one.seq, message: one.message.clone(), attempt: one.attempts }
}

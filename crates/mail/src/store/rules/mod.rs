//! The rules of every change: its checks, their order, and its effect. They are written once, over the rows of an
//! engine ([`AgentRows`], [`MessageRows`]), so an engine only reads and writes rows.
//!
//! Every rule makes all its checks before its first write, so a refused change has written nothing. The rules are async
//! for PostgreSQL; engines that never wait run them with [`at_once`]. Start with [`apply`].

pub(crate) mod agents;
pub(crate) mod append;
mod finished;
pub(crate) mod leases;
mod names;
mod reminders;
mod rows;

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub(crate) use reminders::call_of;
pub(crate) use rows::{AgentRow, AgentRows, Candidate, DeliveryRow, LeasedRow, Mailbox, MessageRows, Ownership};

use super::change::{Change, Changed};
use crate::error::Refusal;
use crate::model::{Millis, Session};

/// Applies a change.
///
/// # Errors
/// When the change is refused, which writes nothing, or the engine fails.
#[allow(clippy::unit_arg)]
pub(crate) async fn apply<R: MessageRows>(rows: &mut R, change: &Change) -> Result<Changed, R::Fault> {
    Ok(match change {
        Change::Enter(it) => Changed::Enter(agents::enter(rows, it).await?),
        Change::Touch(it) => Changed::Touch(rows.touch(it).await?),
        Change::Rename(it) => Changed::Rename(names::rename(rows, it).await?),
        Change::Forget(it) => Changed::Forget(names::forget(rows, it).await?),
        Change::Append(it) => Changed::Append(append::append(rows, it).await?),
        Change::Claim(it) => Changed::Claim(leases::claim(rows, it).await?),
        Change::Confirm(it) => Changed::Confirm(leases::confirm(rows, &it.session).await?),
        Change::Settle(it) => Changed::Settle(leases::settle(rows, it).await?),
        Change::Release(it) => Changed::Release(leases::release(rows, it).await?),
        Change::HandBack(it) => Changed::HandBack(leases::hand_back(rows, it).await?),
        Change::Retell(it) => Changed::Retell(reminders::list_in_hand(rows, it).await?),
        Change::CreateGroup(it) => Changed::CreateGroup(agents::create_group(rows, it).await?),
        Change::DeleteGroup(it) => Changed::DeleteGroup(agents::delete_group(rows, it).await?),
        Change::AddMember(it) => Changed::AddMember(agents::add_member(rows, it).await?),
        Change::RemoveMember(it) => Changed::RemoveMember(agents::remove_member(rows, it).await?),
        Change::BeginHint(it) => Changed::BeginHint(rows.begin_hint(it).await?),
        Change::EndHint(it) => Changed::EndHint(rows.end_hint(it).await?),
        Change::Purge(it) => Changed::Purge(rows.purge(it).await?),
        Change::Import(it) => Changed::Import(append::import(rows, it).await?),
    })
}

/// Runs a rule over rows that never make it wait, in memory or in a file.
pub(crate) fn at_once<T>(rule: impl Future<Output = T>) -> T {
    match pin!(rule).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(out) => out,
        Poll::Pending => unreachable!("rows that are at hand are never waited for"),
    }
}

/// Returns the caller's row, if the caller still holds the name.
async fn caller<R: AgentRows>(rows: &mut R, session: &Session) -> Result<AgentRow<R::Agent>, R::Fault> {
    let row = rows.agent(&session.agent).await?.ok_or_else(|| unknown(session.agent.as_str()))?;
    if session.fence != row.owner.fence {
        return Err(Refusal::Fenced { agent: session.agent.clone(), holder: row.owner.holder }.into());
    }
    Ok(row)
}

/// Returns the refusal when no agent has the name.
fn unknown(agent: &str) -> Refusal {
    Refusal::UnknownAgent { name: agent.to_owned(), nearest: Vec::new() }
}

/// Returns a duration in the unit of a store's clock.
pub(crate) fn millis(duration: Duration) -> Millis {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

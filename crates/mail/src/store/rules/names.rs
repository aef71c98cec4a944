//! The rules by which names change and end.

use super::agents::may_change;
use super::append::arrive;
use super::finished::finish;
use super::leases::report;
use super::rows::{AgentRow, DeliveryRow, MessageRows};
use super::unknown;
use crate::error::Refusal;
use crate::model::{AgentName, DeliveryState, Priority};
use crate::store::change::{Forget, Forgotten, Rename, Renamed};
use crate::store::message::Reason;

pub(super) async fn rename<R: MessageRows>(rows: &mut R, rename: &Rename) -> Result<Renamed, R::Fault> {
    let Rename { from, to, .. } = rename;
    let Some(row) = rows.agent(from).await? else { return Err(unknown(from.as_str()).into()) };
    may_change(from, &row.owner, &rename.holder, rename.takeover)?;
    if from == to {
        return Err(Refusal::SameName { agent: to.clone() }.into());
    }
    if rows.agent(to).await?.is_some() {
        return Err(Refusal::AgentExists { agent: to.clone() }.into());
    }
    let waiting = rows.mailbox(&row.id).await?.waiting();
    wake_all(rows, &row, from).await?;
    rows.rename_agent(&row.id, from, to).await?;
    Ok(Renamed { waiting })
}

pub(super) async fn forget<R: MessageRows>(rows: &mut R, forget: &Forget) -> Result<Forgotten, R::Fault> {
    let agent = &forget.agent;
    let Some(row) = rows.agent(agent).await? else { return Err(unknown(agent.as_str()).into()) };
    may_change(agent, &row.owner, &forget.holder, forget.takeover)?;
    let mut mailbox = rows.mailbox(&row.id).await?;
    let mut waiting = rows.leased_from(&row.id).await?;
    for priority in Priority::ALL {
        let free = *mailbox.free(priority);
        let max = usize::try_from(free).unwrap_or(usize::MAX);
        waiting.extend(rows.candidates(&row.id, priority, max).await?.into_iter().map(|one| DeliveryRow {
            agent: row.id.clone(),
            seq: one.taken.seq,
            message: one.taken.message,
            priority,
            attempts: one.taken.attempt - 1,
            bytes: one.bytes,
            state: DeliveryState::Stored,
            fetched_at: None,
            token: None,
        }));
    }
    for one in &waiting {
        finish(rows, &mut mailbox, one, DeliveryState::Dead, None).await?;
    }
    // A report may go to this very mailbox, which is then read again.
    rows.save(&mailbox).await?;
    for one in &waiting {
        report(rows, one, agent, Reason::Forgotten).await?;
    }
    wake_all(rows, &row, agent).await?;
    rows.remove_agent(&row.id, agent).await?;
    Ok(Forgotten { waiting: waiting.len() as u64 })
}

/// Wakes all waiters of the name, which then learn that the name is free.
async fn wake_all<R: MessageRows>(rows: &mut R, row: &AgentRow<R::Agent>, agent: &AgentName) -> Result<(), R::Fault> {
    let mut mailbox = rows.mailbox(&row.id).await?;
    arrive(rows, &mut mailbox, agent, Priority::Critical);
    rows.save(&mailbox).await
}

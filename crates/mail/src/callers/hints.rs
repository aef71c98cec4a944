//! Hints beside the results of other tools: that mail waits for the agent at this connection. Each arrival is told once.
//!
//! A result is written without waiting for the store, so a task for each connection keeps up what waits. It begins with the
//! connection's first result, and asks the store only when something has arrived or may have been read. Start with
//! [`Callers::hint`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::Context;
use parking_lot::Mutex;
use project::Role as CallerRole;
use tokio::sync::Notify;

use super::{Callers, caller};
use crate::error::MailError;
use crate::model::{AgentName, Floor, Priority};
use crate::service::Mail;
use crate::store::query::Counts;

/// How long a burst of arrivals may last until it is counted. An agent that waits for messages has read them by then.
const SETTLE: Duration = Duration::from_millis(200);
/// The pause between attempts where the store is unavailable.
const AWAY: Duration = Duration::from_secs(5);
/// The most messages that are read for their senders.
const LOOKED_AT: usize = 100;
/// How many senders are named.
const NAMED: usize = 3;

/// The hints of the connections, by number.
#[derive(Default)]
pub(super) struct Hints(Mutex<HashMap<u64, Connection>>);

struct Connection {
    /// What waits, and the number of the mailbox's latest message then.
    waiting: Option<(u64, String)>,
    /// Up to this message the agent was told.
    told: u64,
    /// The call that the last hint came with, and what had been told before.
    last: Option<(Context, u64)>,
    /// Rung when messages may have been read, or the agent may have got a name.
    again: Arc<Notify>,
}

impl Callers {
    /// The hint to give beside a result of a tool, if there is one. `is_mail` for the mail's own tools, whose results say
    /// what waits. Does not block.
    pub fn hint(self: &Arc<Self>, cx: &Context, is_mail: bool) -> Option<String> {
        let caller = caller(cx).ok()?;
        // Whoever sends single requests has nothing to which this could be told once.
        if caller.by_requests || caller.role != CallerRole::Mcp {
            return None;
        }
        let mut hints = self.hints.0.lock();
        let Some(connection) = hints.get_mut(&caller.connection) else {
            let again = Arc::new(Notify::new());
            let fresh = Connection { waiting: None, told: 0, last: None, again: again.clone() };
            hints.insert(caller.connection, fresh);
            let (callers, number, cx) = (self.clone(), caller.connection, cx.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = callers.follow_mailbox(&cx, number, &again) => {}
                    () = cx.disconnected() => {}
                }
                callers.hints.0.lock().remove(&number);
            });
            return None;
        };
        if is_mail {
            // Until it is counted anew, what is known may be read.
            connection.waiting = None;
            connection.again.notify_one();
            return None;
        }
        if let Some((_, before)) = connection.last.take_if(|(call, _)| call.is_cancelled()) {
            connection.told = before;
        }
        let (latest, text) = connection.waiting.as_ref().filter(|(latest, _)| *latest > connection.told)?;
        connection.last = Some((cx.clone(), connection.told));
        connection.told = *latest;
        Some(text.clone())
    }

    /// Keeps up what waits for the agent at a connection.
    async fn follow_mailbox(self: &Arc<Self>, cx: &Context, number: u64, again: &Notify) {
        loop {
            // Without a name there is no mailbox, and the mail stays closed.
            let Ok((mail, agent)) = self.look(cx).await else {
                again.notified().await;
                continue;
            };
            let Ok(arrivals) = mail.arrivals(&agent) else { return };
            let waiting = match counted(&mail, &agent).await {
                Ok(waiting) => waiting,
                Err(error) => {
                    tracing::debug!(%error, %agent, "count what waits for a hint");
                    tokio::time::sleep(AWAY).await;
                    continue;
                }
            };
            if let Some(connection) = self.hints.0.lock().get_mut(&number) {
                connection.waiting = waiting;
            }
            tokio::select! {
                () = arrivals.woken() => tokio::time::sleep(SETTLE).await,
                () = again.notified() => {}
            }
        }
    }
}

/// What waits, in a sentence, with the number of the mailbox's latest message; `None` if nothing does.
async fn counted(mail: &Mail, agent: &AgentName) -> Result<Option<(u64, String)>, MailError> {
    let counts = mail.inbox(agent).await?;
    if counts.total() == 0 {
        return Ok(None);
    }
    // Among others are those that were handed out and may have been read, so that their senders would be named, too.
    let are_all_free = counts.leased == 0 && counts.total() <= LOOKED_AT as u64;
    let senders = match are_all_free {
        true => mail.pending(agent, Floor::All, LOOKED_AT).await?.messages,
        false => Vec::new(),
    };
    let senders = senders.iter().map(|message| message.from.as_str());
    Ok(Some((counts.latest_seq, sentence(agent, &counts, senders))))
}

fn sentence<'a>(agent: &AgentName, counts: &Counts, senders: impl Iterator<Item = &'a str>) -> String {
    let total = counts.total();
    let waits = if total == 1 { "waits" } else { "wait" };
    let mut said = format!("{} {waits} for {agent}", crate::framing::counted(total, "message"));
    for priority in [Priority::Critical, Priority::High] {
        match counts.free[usize::from(priority.level())] {
            0 => {}
            count => said.push_str(&format!(", {count} {}", priority.as_str())),
        }
    }
    let mut named: Vec<&str> = Vec::new();
    senders.for_each(|sender| {
        if !named.contains(&sender) {
            named.push(sender);
        }
    });
    let others = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    if !named.is_empty() {
        said.push_str(&format!(", from {}", named.join(", ")));
    }
    if others > 0 {
        said.push_str(&format!(" and {others} more"));
    }
    said + ": check_messages takes them."
}

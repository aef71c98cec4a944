//! Hints beside the results of other tools: that mail waits for the agent at this connection. Each arrival is told once.
//!
//! A result is written without waiting for the store, so a task for each connection keeps up what waits. It begins with the
//! connection, or with the first result of one that does not say when it is ready, and asks the store only when something
//! has arrived or may have been read. Start with [`Callers::hint`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp::tool::Context;
use parking_lot::Mutex;
use project::{Caller, Role as CallerRole};
use tokio::sync::Notify;

use super::{Callers, caller};
use crate::error::MailError;
use crate::model::{AgentName, Floor, Priority};
use crate::service::Mail;
use crate::store::query::{Among, Counts};

/// How long a burst of arrivals may last until it is counted. An agent that waits for messages is handed them in the
/// transaction that stores them, so those are never counted.
const SETTLE: Duration = Duration::from_millis(50);
/// The pause between attempts where the store is unavailable.
const AWAY: Duration = Duration::from_secs(5);
/// How often a name is looked for, at results of an agent that has none.
const UNNAMED: Duration = Duration::from_millis(200);
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
    /// When the agent's name was looked for in vain.
    nameless_since: Option<Instant>,
}

impl Hints {
    /// The agent at this connection was told of what waits, up to this message, in another way.
    pub(super) fn told(&self, connection: u64, latest: u64) {
        if let Some(connection) = self.0.lock().get_mut(&connection) {
            connection.told = connection.told.max(latest);
        }
    }
}

impl Callers {
    /// Counts what waits for the agent at this connection from now on, so that the first result has its hint.
    pub fn begin_hints(self: &Arc<Self>, cx: &Context) {
        if let Ok(caller) = caller(cx)
            && takes_hints(caller)
        {
            self.followed(cx, &mut self.hints.0.lock(), caller.connection);
        }
    }

    /// The hint to give beside a result of a tool, if there is one. `is_mail` for the mail's own tools, whose results say
    /// what waits. Does not block.
    pub fn hint(self: &Arc<Self>, cx: &Context, is_mail: bool) -> Option<String> {
        let caller = caller(cx).ok()?;
        if !takes_hints(caller) {
            return None;
        }
        let mut hints = self.hints.0.lock();
        let connection = self.followed(cx, &mut hints, caller.connection)?;
        if is_mail {
            // Until it is counted anew, what is known may be read.
            connection.waiting = None;
        }
        if is_mail || connection.nameless_since.is_some_and(|since| since.elapsed() > UNNAMED) {
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

    /// What waits for the caller, in a sentence. No hint says the same again.
    pub async fn waiting(&self, cx: &Context) -> Option<String> {
        let (mail, agent) = self.look(cx).await.ok()?;
        let counted = counted(&mail, &agent).await;
        let counted = counted.inspect_err(|error| tracing::debug!(%error, %agent, "count what waits for a brief"));
        let (latest, text) = counted.ok()??;
        let mut hints = self.hints.0.lock();
        if let Some(connection) =
            hints.get_mut(&caller(cx).ok()?.connection).filter(|connection| connection.told < latest)
        {
            connection.last = Some((cx.clone(), connection.told));
            connection.told = latest;
        }
        Some(text)
    }

    /// The connection, if it is followed; else it is from now on.
    fn followed<'a>(
        self: &Arc<Self>,
        cx: &Context,
        hints: &'a mut HashMap<u64, Connection>,
        number: u64,
    ) -> Option<&'a mut Connection> {
        let vacant = match hints.entry(number) {
            Entry::Occupied(followed) => return Some(followed.into_mut()),
            Entry::Vacant(vacant) => vacant,
        };
        let again = Arc::new(Notify::new());
        vacant.insert(Connection { waiting: None, told: 0, last: None, again: again.clone(), nameless_since: None });
        let (callers, cx) = (self.clone(), cx.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = callers.follow_mailbox(&cx, number, &again) => {}
                () = cx.disconnected() => {}
            }
            callers.hints.0.lock().remove(&number);
        });
        None
    }

    /// Keeps up what waits for the agent at a connection.
    async fn follow_mailbox(self: &Arc<Self>, cx: &Context, number: u64, again: &Notify) {
        loop {
            // Without a name there is no mailbox, and the mail stays closed.
            let looked = self.look(cx).await;
            if let Some(connection) = self.hints.0.lock().get_mut(&number) {
                connection.nameless_since = looked.is_err().then(Instant::now);
            }
            let Ok((mail, agent)) = looked else {
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

/// Whoever sends single requests has nothing to which this could be told once.
fn takes_hints(caller: &Caller) -> bool {
    !caller.by_requests && caller.role == CallerRole::Mcp
}

/// What waits, in a sentence, with the number of the mailbox's latest message; `None` if nothing does.
async fn counted(mail: &Mail, agent: &AgentName) -> Result<Option<(u64, String)>, MailError> {
    let counts = mail.inbox(agent).await?;
    if counts.total() == 0 {
        return Ok(None);
    }
    // Not those that were handed out, which may have been read. Some of very many would not be all senders.
    let senders = match counts.total() <= LOOKED_AT as u64 {
        true => mail.mailbox(agent, Floor::All, Among::Free, LOOKED_AT).await?.messages,
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

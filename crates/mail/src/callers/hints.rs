//! Hints next to the results of other tools: they say that mail waits for the agent at this connection. Each arrival is
//! reported once.
//!
//! A result is written without waiting for the store. A task for each connection therefore counts the waiting messages.
//! It starts with the connection, or with its first result if the client does not say when it is ready. It queries the
//! store only after an arrival or a possible read. Start with [`Callers::hint`].

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

/// The time in which a burst of arrivals is collected before it is counted. A waiting agent gets messages in the
/// transaction that stores them, so those are never counted.
const SETTLE: Duration = Duration::from_millis(50);
/// The pause between attempts where the store is unavailable.
const AWAY: Duration = Duration::from_secs(5);
/// The interval between lookups of a name, at results of an agent without one.
const UNNAMED: Duration = Duration::from_millis(200);
/// The maximum number of messages that are read for their senders.
const LOOKED_AT: usize = 100;
/// The number of senders that are named.
const NAMED: usize = 3;

/// The hints of the connections, by number.
#[derive(Default)]
pub(super) struct Hints(Mutex<HashMap<u64, Connection>>);

struct Connection {
    /// The sentence about waiting messages, and the number of the mailbox's latest message at that time.
    waiting: Option<(u64, String)>,
    /// The latest message that was reported to the agent.
    told: u64,
    /// The call with the last hint, and the value of `told` before it.
    last: Option<(Context, u64)>,
    /// Rung when messages may have been read, or the agent may have got a name.
    again: Arc<Notify>,
    /// The time of the last lookup that found no name.
    nameless_since: Option<Instant>,
}

impl Hints {
    /// Notes that the agent at this connection was told in another way about the messages up to this one.
    pub(super) fn mark_told(&self, connection: u64, latest: u64) {
        if let Some(connection) = self.0.lock().get_mut(&connection) {
            connection.told = connection.told.max(latest);
        }
    }
}

impl Callers {
    /// Starts counting the messages for the agent at this connection, so that the first result has its hint.
    pub fn begin_hints(self: &Arc<Self>, cx: &Context) {
        if let Ok(caller) = caller(cx)
            && takes_hints(caller)
        {
            self.followed(cx, &mut self.hints.0.lock(), caller.connection);
        }
    }

    /// Returns the hint for a result of a tool, if there is one. `is_mail` is true for the mail tools, whose results
    /// report waiting messages anyway. Does not block.
    pub fn hint(self: &Arc<Self>, cx: &Context, is_mail: bool) -> Option<String> {
        let caller = caller(cx).ok()?;
        if !takes_hints(caller) {
            return None;
        }
        let mut hints = self.hints.0.lock();
        let connection = self.followed(cx, &mut hints, caller.connection)?;
        if is_mail {
            // Until the next count, the counted messages may have been read.
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

    /// Returns a sentence about the messages that wait for the caller. No hint repeats it.
    pub async fn waiting(&self, cx: &Context) -> Option<String> {
        let (mail, agent) = self.mail_and_name(cx).await.ok()?;
        let counted = counted(&mail, &agent).await;
        let counted = counted.inspect_err(|error| tracing::debug!(%error, %agent, "cannot count messages for a brief"));
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

    /// Returns the connection if it is followed; otherwise starts following it.
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

    /// Keeps the count of waiting messages for the agent at a connection up to date.
    async fn follow_mailbox(self: &Arc<Self>, cx: &Context, number: u64, again: &Notify) {
        loop {
            // An agent without a name has no mailbox, so the mail stays closed.
            let looked = self.mail_and_name(cx).await;
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
                    tracing::debug!(%error, %agent, "cannot count messages for a hint");
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

/// Returns false for a client of single requests: there is no connection on which a hint could be reported once.
fn takes_hints(caller: &Caller) -> bool {
    !caller.by_requests && caller.role == CallerRole::Mcp
}

/// Returns a sentence about the waiting messages, and the number of the mailbox's latest message; `None` if no message
/// waits.
async fn counted(mail: &Mail, agent: &AgentName) -> Result<Option<(u64, String)>, MailError> {
    let counts = mail.inbox(agent).await?;
    if counts.total() == 0 {
        return Ok(None);
    }
    // Messages that were handed out are excluded, since they may have been read. With too many messages no senders are
    // named, since the list would be incomplete.
    let senders = if counts.total() <= LOOKED_AT as u64 {
        mail.mailbox(agent, Floor::All, Among::Free, LOOKED_AT).await?.messages
    } else {
        Vec::new()
    };
    fn name(from: &AgentName) -> &str {
        if from.is_user() { "your user" } else { from.as_str() }
    }
    let senders = senders.iter().map(|message| name(&message.from));
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

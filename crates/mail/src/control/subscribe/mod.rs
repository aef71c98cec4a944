//! `subscribe {floor, after}`: one notification for each message that comes into the caller's mailbox, in commit order.
//! Nothing is handed out; a subscriber that comes back with its cursor has missed nothing.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, NotifyError};
use mcp::wire::build::RpcError;
use mcp::wire::code::INVALID_REQUEST;
use project::Caller;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::{failed, parse, refused, result};
use crate::callers::Callers;
use crate::framing::one_line;
use crate::model::{Floor, MessageView, Session};
use crate::service::Mail;
use crate::service::subscribe::Subscription;
use crate::time::rfc3339;

/// The notification of a message.
const MESSAGE: &str = "notification.message";
/// The last notification, with the reason.
const END: &str = "notification.end";
/// How much of a message its notification shows, in characters.
const PREVIEW: usize = 100;
/// Between two attempts to tell a subscriber that reads slowly, at first and at most.
const SLOWLY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// How long after a subscriber was told that is written down.
const ON_RECORD: Duration = Duration::from_millis(1);
/// Between two looks into an unavailable store.
const AWAY: Duration = Duration::from_secs(1);

/// What a subscriber is told of a message; the message stays in the store.
#[derive(Debug, Serialize)]
struct Notice {
    message_id: String,
    /// Its beginning on one line, with everything written out that a terminal would obey. Data from another agent.
    preview: String,
    from: String,
    priority: &'static str,
    timestamp: String,
    seq: u64,
}

impl Notice {
    fn of(message: &MessageView) -> Notice {
        Notice {
            message_id: message.id.to_string(),
            preview: one_line(&message.content, PREVIEW),
            from: message.from.to_string(),
            priority: message.priority.as_str(),
            timestamp: rfc3339(message.at),
            seq: message.seq,
        }
    }
}

/// What to be told of.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Subscribe {
    /// The least priority.
    floor: Option<Floor>,
    /// Everything after this place in the mailbox, read or not. Absent: what waits to be read, then what comes.
    after: Option<u64>,
    /// What any request may bring along.
    _meta: Option<IgnoredAny>,
}

/// The answer is `{agent, cursor}`: everything after the cursor is told of. A connection has one subscription: another
/// one takes its place.
pub async fn subscribe(
    callers: Arc<Callers>,
    cx: Context,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let asked: Subscribe = parse(params)?;
    let Some(caller) = cx.caller::<Caller>().filter(|caller| !caller.by_requests) else {
        let why = "notifications need a connection that stands: subscribe on the WebSocket (/ws), or wait with \
                   wait_for_message";
        return Err(RpcError::new(INVALID_REQUEST, why));
    };
    let connection = caller.connection;
    let floor = asked.floor.unwrap_or_default();
    let (mail, session) = callers.enter(&cx).await.map_err(refused)?;
    let coming = match asked.after {
        Some(after) => mail.subscribe(&session, floor, Some(after)).await,
        None => mail.subscribe_waiting(&session, floor).await,
    };
    let coming = coming.map_err(failed)?;
    let answer = result(&json!({"agent": session.agent.as_str(), "cursor": coming.cursor()}));
    let telling = Telling { callers: callers.clone(), mail, session, cx };
    callers.set_subscription(connection, async move { telling.run(coming).await }).await;
    answer
}

/// What one subscriber's notifications need.
struct Telling {
    callers: Arc<Callers>,
    mail: Arc<Mail>,
    session: Session,
    cx: Context,
}

impl Telling {
    /// Tells until the connection ends or its agent's name is another's.
    async fn run(self, mut coming: Subscription) {
        let mut takeovers = self.callers.takeovers();
        // One that came before is not heard of there.
        if self.has_ended().await {
            return;
        }
        loop {
            let message = tokio::select! {
                message = coming.next() => message,
                () = self.cx.disconnected() => return,
                _ = takeovers.changed() => match self.has_ended().await {
                    true => return,
                    false => continue,
                },
            };
            match message {
                Ok(message) => {
                    if self.has_ended().await || self.tell(MESSAGE, &Notice::of(&message)).await.is_err() {
                        return;
                    }
                    // For the record only: a subscriber asked to be told, however often it was tried before. Later, since
                    // the store would take the processor from the one that is just being told.
                    let (mail, agent) = (self.mail.clone(), self.session.agent.clone());
                    tokio::spawn(async move {
                        tokio::time::sleep(ON_RECORD).await;
                        if let Err(error) = mail.begin_hint(&agent, &message.id, "subscription").await {
                            tracing::debug!(%error, "note that a subscriber was told");
                        }
                    });
                    // What was just told leaves before anybody reads on: that is a thread's work, and it would run first.
                    tokio::task::yield_now().await;
                }
                Err(error) => {
                    tracing::warn!(%error, "read on for a subscriber");
                    tokio::select! {
                        () = tokio::time::sleep(AWAY) => {}
                        () = self.cx.disconnected() => return,
                    }
                }
            }
        }
    }

    /// Tells the subscriber if its name was taken over; whether it was.
    async fn has_ended(&self) -> bool {
        let Some(refusal) = self.callers.lost(&self.mail, &self.session).await else { return false };
        let reason = crate::error::failed(refusal).to_string();
        // The connection may be gone as well, which tells the same.
        let _ = self.tell(END, &json!({"reason": reason})).await;
        true
    }

    /// Numbers that rise show a subscriber what it has, and it must miss none: one that reads slowly is waited for. What
    /// waits for it meanwhile is the store's, and a page of it.
    async fn tell(&self, method: &str, notice: &impl Serialize) -> Result<(), NotifyError> {
        let (mut pause, longest) = SLOWLY;
        while let Err(error) = self.cx.notify(method, notice) {
            if error == NotifyError::Closed {
                return Err(error);
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(longest),
                () = self.cx.disconnected() => return Err(NotifyError::Closed),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

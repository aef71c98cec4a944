//! `subscribe {floor, after}`: one notification for each message that arrives in the caller's mailbox, in commit order.
//! Nothing is handed out. A subscriber that comes back with its cursor has missed nothing.

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

const MESSAGE: &str = "notification.message";
/// The last notification, with the reason.
const END: &str = "notification.end";
/// The longest preview of a message, in characters.
const PREVIEW: usize = 100;
/// The pauses between attempts to notify a slow subscriber: the first and the longest.
const SLOWLY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// The delay between notifying a subscriber and recording it.
const ON_RECORD: Duration = Duration::from_millis(1);
/// The pause between two queries of an unavailable store.
const AWAY: Duration = Duration::from_secs(1);

/// The notification of a message, which stays in the store.
#[derive(Debug, Serialize)]
struct Notice {
    message_id: String,
    /// The beginning of the text on one line, with control characters escaped. Data from another agent.
    preview: String,
    from: String,
    priority: &'static str,
    timestamp: String,
    seq: u64,
}

impl Notice {
    fn new(message: &MessageView) -> Notice {
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

/// The arguments of `subscribe`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Subscribe {
    /// The lowest priority.
    floor: Option<Floor>,
    /// The cursor: every message after it, read or not. If absent: the messages that wait to be read, then all that
    /// arrive.
    after: Option<u64>,
    /// Allowed in any request, and ignored.
    _meta: Option<IgnoredAny>,
}

/// Handles `subscribe`. The answer is `{agent, cursor}`; every message after the cursor causes a notification. If
/// messages wait and no cursor was given, `urgent` is the notification of the most urgent one. A connection has one
/// subscription; a new one replaces it.
pub async fn subscribe(
    callers: Arc<Callers>,
    cx: Context,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let asked: Subscribe = parse(params)?;
    let Some(caller) = cx.caller::<Caller>().filter(|caller| !caller.by_requests) else {
        let why = "notifications need a persistent connection: subscribe on the WebSocket (/ws), or wait with \
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
    let mut answer = json!({"agent": session.agent.as_str(), "cursor": coming.cursor()});
    if asked.after.is_none() && coming.has_waiting() {
        let first = mail.in_order(&session.agent, floor, 1).await.map_err(failed)?;
        answer["urgent"] = json!(first.messages.first().map(Notice::new));
    }
    let answer = result(&answer);
    let telling = Telling { callers: callers.clone(), mail, session, cx };
    callers.set_subscription(connection, async move { telling.run(coming).await }).await;
    answer
}

/// The state of one subscriber's notifications.
struct Telling {
    callers: Arc<Callers>,
    mail: Arc<Mail>,
    session: Session,
    cx: Context,
}

impl Telling {
    /// Sends notifications until the connection ends or another holder has the agent's name.
    async fn run(self, mut coming: Subscription) {
        let mut takeovers = self.callers.takeovers();
        // The watch does not report a takeover from before it began.
        if self.has_ended().await {
            return;
        }
        loop {
            let message = tokio::select! {
                message = coming.next() => message,
                () = self.cx.disconnected() => return,
                _ = takeovers.changed() => if self.has_ended().await { return } else { continue },
            };
            match message {
                Ok(message) => {
                    if self.has_ended().await || self.notify(MESSAGE, &Notice::new(&message)).await.is_err() {
                        return;
                    }
                    // Only recorded: a subscriber asked for notifications, however often other hints were tried.
                    // Recorded later, since the store would take the processor from the subscriber.
                    let (mail, agent) = (self.mail.clone(), self.session.agent.clone());
                    tokio::spawn(async move {
                        tokio::time::sleep(ON_RECORD).await;
                        if let Err(error) = mail.begin_hint(&agent, &message.id, "subscription").await {
                            tracing::debug!(%error, "cannot record that a subscriber was notified");
                        }
                    });
                    // Yields so that the notification is sent first: reading on takes a thread, which would run first.
                    tokio::task::yield_now().await;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot read further messages for a subscriber");
                    tokio::select! {
                        () = tokio::time::sleep(AWAY) => {}
                        () = self.cx.disconnected() => return,
                    }
                }
            }
        }
    }

    /// Notifies the subscriber if its name was taken over; returns whether it was.
    async fn has_ended(&self) -> bool {
        let Some(refusal) = self.callers.lost_name(&self.mail, &self.session).await else { return false };
        let reason = crate::error::failed(refusal).to_string();
        // If the connection has ended too, the subscriber knows.
        let _ = self.notify(END, &json!({"reason": reason})).await;
        true
    }

    /// Sends a notification, and waits for a slow subscriber. The rising numbers tell it which messages it has, so it
    /// must not miss any. Meanwhile messages wait in the store, except for one page.
    async fn notify(&self, method: &str, notice: &impl Serialize) -> Result<(), NotifyError> {
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

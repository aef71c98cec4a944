//! `wait_for_message`: waits for mail without polling, and takes it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp::tool::{Context, Effect, Example, Progress, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Filter, HANDED_OUT, Message, NEXT};
use crate::callers::{Callers, InFlight, waits};
use crate::error::failed;
use crate::framing::Framed;
use crate::model::Session;
use crate::service::Mail;
use crate::service::receive::WaitRequest;

/// The interval at which a waiting call reports progress.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The time before its client's timeout at which a wait ends.
const MARGIN: Duration = Duration::from_secs(5);
/// The longest wait.
const LONGEST: u64 = 600;

/// Wait until a message comes, or take a waiting one at once, as check_messages does. It blocks you: use it only without
/// other work. A timeout is not an error; call again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Timeout in seconds (default 300, at most 600).
    #[serde(alias = "timeout_seconds", alias = "timeout_s", alias = "seconds")]
    pub timeout: Option<u64>,
    /// Less urgent messages do not end the wait (default all).
    #[serde(default, alias = "priority", alias = "min_priority", alias = "filter")]
    pub priority_filter: Filter,
    /// Only show messages after this number, read or not; 0 for all.
    #[serde(alias = "cursor", alias = "seq")]
    pub after: Option<u64>,
    /// Maximum number of messages (default 1).
    #[serde(alias = "limit", alias = "count")]
    pub max: Option<u32>,
}

/// The messages that came.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// `message_received`, `timeout`, or `superseded`: a newer wait of yours is open.
    pub status: String,
    /// The first message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<Message>,
    /// The length of the wait.
    pub waited_seconds: f64,
    /// All messages, including the first.
    pub messages: Vec<Message>,
    /// The number of waiting messages below the filter.
    pub below_filter: u64,
    /// The number of messages that still wait.
    pub remaining: u64,
    /// The number of earlier messages without an answer: check_messages lists them.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub in_hand: u64,
    /// The last of those.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_in_hand: Option<LastInHand>,
    /// True if the messages were only looked at.
    #[serde(skip)]
    pub looked: bool,
}

/// A message that was handed out before.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LastInHand {
    /// Its id.
    pub message_id: String,
}

// serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

pub(super) struct WaitForMessage(pub(super) Arc<Callers>);

/// The result of a wait.
#[derive(Default)]
struct Came {
    messages: Vec<Message>,
    /// The token of the hand-out.
    handed: Option<u64>,
    remaining: u64,
    below_floor: u64,
    in_hand: u64,
    last_in_hand: Option<String>,
    is_superseded: bool,
}

async fn wait(mail: &Mail, session: &Session, after: Option<u64>, request: WaitRequest) -> Result<Came, ToolError> {
    if let Some(after) = after {
        let WaitRequest { floor, max, timeout, .. } = request;
        let seen = mail.wait_after(session, after, floor, max, timeout).await.map_err(failed)?;
        let messages = seen.messages.into_iter().map(Message::from).collect();
        let (remaining, below_floor) = (seen.remaining, seen.below_floor);
        return Ok(Came { messages, remaining, below_floor, ..Came::default() });
    }
    let taken = mail.wait(session, request).await.map_err(failed)?;
    let messages: Vec<Message> = taken.messages.into_iter().map(Message::from).collect();
    let handed = Some(taken.handed).filter(|_| !messages.is_empty());
    Ok(Came {
        messages,
        handed,
        remaining: taken.remaining,
        below_floor: taken.below_floor,
        in_hand: taken.in_hand,
        last_in_hand: taken.last_in_hand.map(|id| id.to_string()),
        is_superseded: taken.is_superseded,
    })
}

impl Tool for WaitForMessage {
    const NAME: &'static str = "wait_for_message";
    const TITLE: &'static str = "Wait for a message";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    const REPEAT: Repeat = Repeat::HandsOut { receipt: "message_id" };
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let begun = Instant::now();
        let (mail, session, in_flight) = match args.after {
            None => self.0.enter_to_receive(&cx).await.map(|(mail, session, call)| (mail, session, Some(call)))?,
            Some(_) => self.0.enter(&cx).await.map(|(mail, session)| (mail, session, None))?,
        };
        let asked = Duration::from_secs(args.timeout.unwrap_or(300).min(LONGEST));
        // A client that has given up would never see the messages.
        let most = cx.budget().map_or(asked, |budget| asked.min(budget.saturating_sub(MARGIN)));
        let (floor, max) = (args.priority_filter.into(), args.max.unwrap_or(1).clamp(1, 500) as usize);
        let request = WaitRequest {
            timeout: most,
            floor,
            max,
            max_bytes: HANDED_OUT,
            token: in_flight.as_ref().map(InFlight::token),
            unseen: in_flight.as_ref().map(InFlight::unseen).unwrap_or_default(),
        };
        let mut waiting = std::pin::pin!(wait(&mail, &session, args.after, request));
        let waited = async {
            loop {
                tokio::select! {
                    biased;
                    came = &mut waiting => break came,
                    () = cx.cancelled() => break Err(ToolError::user("The wait was cancelled; nothing was taken.")),
                    () = tokio::time::sleep(HEARTBEAT) => {
                        let message = Some(format!("waiting for a message, {} s", begun.elapsed().as_secs()));
                        cx.progress(Progress { progress: begun.elapsed().as_secs_f64(), total: None, message });
                    }
                }
            }
        };
        // Many may wait on one connection, and others are served meanwhile.
        let came = cx.waits(waited).await?;
        if let Some(handed) = came.handed {
            self.0.hands_out(&cx, &mail, &session, handed);
        }
        let messages = came.messages;
        let status = if came.is_superseded {
            "superseded"
        } else if messages.is_empty() {
            "timeout"
        } else {
            "message_received"
        };
        Ok(Output {
            status: status.to_owned(),
            message: messages.first().cloned(),
            waited_seconds: (begun.elapsed().as_secs_f64() * 10.0).round() / 10.0,
            messages,
            below_filter: came.below_floor,
            remaining: came.remaining,
            in_hand: came.in_hand,
            last_in_hand: came.last_in_hand.map(|message_id| LastInHand { message_id }),
            looked: args.after.is_some(),
        })
    }

    fn text(output: &Output) -> String {
        let mut framed = Framed::new();
        let (waited, more) = (output.waited_seconds, output.remaining);
        if output.status == "superseded" {
            return "superseded: a newer wait_for_message of yours gets the messages. This one took none; do not repeat it."
                .to_owned();
        }
        let mut head = match &output.messages[..] {
            [] => format!("timeout: no message within {waited} s."),
            all => format!("message_received: {} after {waited} s, {more} more wait.", all.len()),
        };
        if output.below_filter > 0 {
            head.push_str(&format!(" {} below the filter: check_messages takes them.", waits(output.below_filter)));
        }
        if output.in_hand > 0 {
            let count = super::counted(output.in_hand, "message");
            head.push_str(&format!(" You received {count} before and did not answer: check_messages lists them."));
        }
        match output.messages.last() {
            Some(last) if output.looked => {
                head.push_str(&format!(" None was taken; continue with `after` {}.", last.seq))
            }
            Some(_) => head.push_str(&format!(" {NEXT}")),
            None => {}
        }
        framed.line(&head);
        output.messages.iter().for_each(|message| message.show(&mut framed));
        framed.finish()
    }

    fn examples() -> Vec<Example> {
        vec![
            Example { title: "Wait five minutes", arguments: json!({}), text: None },
            Example {
                title: "Wait for urgent messages only",
                arguments: json!({"timeout": 600, "priority_filter": "high_and_above"}),
                text: None,
            },
        ]
    }
}

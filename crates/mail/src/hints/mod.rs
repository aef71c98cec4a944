//! Reaching an agent that does not wait: the ladder of hints. The store is the truth; a hint only says that there is
//! something, and is worth giving once.
//!
//! The rungs, in order: a blocked `wait_for_message` or a subscription needs none, since the message itself arrives;
//! then the context that the agent's host takes from hooks ([`hook_context`]); then pushes that a host takes
//! ([`Ladder`]). Nothing is typed into terminals. Each attempt is made at most once for a message and a rung, only
//! while the message waits (looked up just before), and stands in `delivery_status`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::error::MailError;
use crate::framing::{Framed, one_line};
use crate::model::{AgentName, Floor, MessageView, Priority};
use crate::service::Mail;
use crate::store::change::HintVerdict;

/// How many messages one hint names.
const NAMED: usize = 10;
/// How many waiting messages are looked at for one hint.
const LOOKED_AT: usize = 50;
/// How much of a message a hint shows, in characters.
const PREVIEW: usize = 120;

/// A moment at which an agent's host asks for context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// A session begins.
    SessionStart,
    /// The user said something.
    UserPromptSubmit,
    /// A tool was used.
    PostToolUse,
    /// The agent is about to stop.
    Stop,
}

impl HookEvent {
    /// The rung that it is.
    pub fn rung(self) -> &'static str {
        match self {
            HookEvent::SessionStart => "hook:session_start",
            HookEvent::UserPromptSubmit => "hook:user_prompt_submit",
            HookEvent::PostToolUse => "hook:post_tool_use",
            HookEvent::Stop => "hook:stop",
        }
    }

    /// What is worth saying then: in the middle of work only what should interrupt it.
    pub fn floor(self) -> Floor {
        match self {
            HookEvent::PostToolUse => Floor::HighAndAbove,
            HookEvent::SessionStart | HookEvent::UserPromptSubmit | HookEvent::Stop => Floor::All,
        }
    }
}

/// What to tell an agent at a hook event: nothing when no message waits, or when it was told of all of them at this
/// event before.
///
/// # Errors
/// When the store is unavailable.
pub async fn hook_context(mail: &Mail, agent: &AgentName, event: HookEvent) -> Result<Option<String>, MailError> {
    let due = due(mail, agent, event.rung(), event.floor()).await?;
    if due.is_empty() {
        return Ok(None);
    }
    let text = note(&due);
    for message in &due {
        mail.end_hint(agent, &message.id, event.rung(), "shown").await?;
    }
    Ok(Some(text))
}

/// A future that a host's push returns.
pub type Pushing<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Something that can put a line before an agent: a host's own channel.
pub trait Push: Send + Sync {
    /// Its name in the record.
    fn rung(&self) -> &str;
    /// Whether it is there for this agent now.
    fn reaches(&self, agent: &AgentName) -> bool;
    /// Puts the text before the agent. `Ok` means that the host took it, not that the agent read it.
    fn push<'a>(&'a self, agent: &'a AgentName, text: &'a str) -> Pushing<'a>;
}

/// Pushes, tried in order until one is taken.
#[derive(Clone, Default)]
pub struct Ladder {
    rungs: Vec<Arc<dyn Push>>,
}

impl Ladder {
    /// These, the first one first.
    pub fn new(rungs: Vec<Arc<dyn Push>>) -> Ladder {
        Ladder { rungs }
    }

    /// Tells the agent of what waits and it was not told of in this way. Returns the rung that was taken, if any was.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn climb(&self, mail: &Mail, agent: &AgentName, floor: Floor) -> Result<Option<String>, MailError> {
        for push in self.rungs.iter().filter(|push| push.reaches(agent)) {
            let due = due(mail, agent, push.rung(), floor).await?;
            if due.is_empty() {
                continue;
            }
            let pushed = push.push(agent, &note(&due)).await;
            let outcome = match &pushed {
                Ok(()) => "taken".to_owned(),
                Err(why) => format!("failed: {}", one_line(why, 200)),
            };
            for message in &due {
                mail.end_hint(agent, &message.id, push.rung(), &outcome).await?;
            }
            if pushed.is_ok() {
                return Ok(Some(push.rung().to_owned()));
            }
        }
        Ok(None)
    }
}

/// The waiting messages that the agent was not told of by this rung; from here on it was, on the record.
async fn due(mail: &Mail, agent: &AgentName, rung: &str, floor: Floor) -> Result<Vec<MessageView>, MailError> {
    let mut due = Vec::new();
    for message in mail.pending(agent, floor, LOOKED_AT).await?.messages {
        // Asked of the store for each message just before: one that was read meanwhile is not worth a word.
        if mail.begin_hint(agent, &message.id, rung).await? == HintVerdict::Go {
            due.push(message);
        }
    }
    due.sort_by_key(|message| (std::cmp::Reverse(message.priority), message.seq));
    Ok(due)
}

/// The words of a hint.
fn note(due: &[MessageView]) -> String {
    let urgent = match due.iter().map(|message| message.priority).max() {
        Some(Priority::Critical) => " One is critical: stop current work and read it.",
        Some(Priority::High) => " One is high: read it at the next breakpoint.",
        _ => "",
    };
    let mut framed = Framed::new();
    framed.line(&format!(
        "{} message{} from other agents wait for you: check_messages hands them out.{urgent}",
        due.len(),
        if due.len() == 1 { "" } else { "s" }
    ));
    let previews: Vec<String> = due
        .iter()
        .take(NAMED)
        .map(|message| {
            let (id, from, priority) = (&message.id, &message.from, message.priority.as_str());
            format!("{id} from {from}, {priority}: {}", one_line(&message.content, PREVIEW))
        })
        .collect();
    framed.body("their beginnings", &previews.join("\n"));
    framed.finish()
}

#[cfg(test)]
mod tests;

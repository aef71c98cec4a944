//! The mail's own methods on control connections: `subscribe` and its notification, `mail/confirm`, `mail/import`.

use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::{Context, NotifyError, ToolError};
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::desk::Desk;
use crate::framing::one_line;
use crate::import;
use crate::model::{AgentName, Floor, MessageId, MessageView, Priority, Profile, Role, Session};
use crate::service::Mail;
use crate::service::people::member;
use crate::store::change::Import;
use crate::time::rfc3339;

/// The notification of a message.
const MESSAGE: &str = "notification.message";
/// How much of a message its notification shows, in characters.
const PREVIEW: usize = 100;
/// How many messages that wait already are told of.
const WAITING: usize = 100;

/// What a subscriber is told of a message; the message itself stays where it is.
#[derive(Debug, Serialize)]
struct Notice {
    message_id: String,
    /// Its beginning on one line, with everything written out that a terminal would obey. Data from another agent.
    preview: String,
    from: String,
    priority: &'static str,
    timestamp: String,
    /// The cursor.
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
}

/// `subscribe {floor, after}`: the answer is `{agent, cursor}`; then a notification for each message, in order.
pub async fn subscribe(desk: Arc<Desk>, cx: Context, params: Option<Box<RawValue>>) -> Result<Box<RawValue>, RpcError> {
    let asked: Subscribe = parse(params)?;
    let floor = asked.floor.unwrap_or_default();
    let (mail, session) = desk.enter(&cx).await.map_err(refused)?;
    let mut coming = mail.subscribe(&session, floor, asked.after).await.map_err(failed)?;
    let cursor = coming.cursor();
    let waiting = match asked.after {
        Some(_) => Vec::new(),
        None => mail.pending(&session.agent, floor, WAITING).await.map_err(failed)?.messages,
    };
    let answer = result(&json!({"agent": session.agent.as_str(), "cursor": cursor}));
    tokio::spawn(async move {
        // What comes after the cursor comes by itself.
        for message in waiting.iter().filter(|message| message.seq <= cursor) {
            if tell(&cx, &mail, &session, message).await.is_err() {
                return;
            }
        }
        loop {
            let message = tokio::select! {
                message = coming.next() => message,
                () = cx.disconnected() => return,
            };
            match message {
                Ok(message) if tell(&cx, &mail, &session, &message).await.is_err() => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "read on for a subscriber");
                    tokio::select! {
                        () = tokio::time::sleep(std::time::Duration::from_secs(1)) => {}
                        () = cx.disconnected() => return,
                    }
                }
            }
        }
    });
    answer
}

async fn tell(cx: &Context, mail: &Mail, session: &Session, message: &MessageView) -> Result<(), NotifyError> {
    loop {
        match cx.notify(MESSAGE, &Notice::of(message)) {
            // Numbers that rise show a subscriber what it has; it must miss none.
            Err(NotifyError::Full) => tokio::select! {
                () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {}
                () = cx.disconnected() => return Err(NotifyError::Closed),
            },
            Err(NotifyError::Closed) => return Err(NotifyError::Closed),
            Ok(()) => break,
        }
    }
    // For the record only: a subscriber asked to be told, however often it was tried before.
    if let Err(error) = mail.begin_hint(&session.agent, &message.id, "subscription").await {
        tracing::debug!(%error, "note that a subscriber was told");
    }
    Ok(())
}

/// `mail/confirm`: what this connection's run was handed out is read: it has been shown.
pub async fn confirm(desk: Arc<Desk>, cx: Context) -> Result<Box<RawValue>, RpcError> {
    let (mail, session) = desk.enter(&cx).await.map_err(refused)?;
    let confirmed = mail.confirm(&session).await.map_err(failed)?;
    result(&json!({"confirmed": confirmed}))
}

/// What to take over.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportFrom {
    /// A `.thrum` directory, or the repository around it.
    thrum: PathBuf,
}

/// `mail/import {thrum}`: the answer counts what was new.
pub async fn import(desk: Arc<Desk>, cx: Context, params: Option<Box<RawValue>>) -> Result<Box<RawValue>, RpcError> {
    let params = params.ok_or_else(|| RpcError::new(INVALID_PARAMS, "`thrum` is missing"))?;
    let ImportFrom { thrum } =
        serde_json::from_str(params.get()).map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))?;
    let mail = desk.mail().await.map_err(refused)?;
    let found = tokio::task::spawn_blocking(move || import::read(&thrum))
        .await
        .map_err(|error| RpcError::new(INTERNAL, error.to_string()))?
        .map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))?;
    let importer = desk.enter(&cx).await.map(|(_, session)| session);
    result(&take_over(&mail, importer.as_ref().map_err(|error| error.to_string()), found).await)
}

/// What was new.
#[derive(Debug, Default, Serialize)]
struct TakenOver {
    agents: u64,
    groups: u64,
    messages: u64,
    /// Were here already.
    known: u64,
    /// Could not be taken over, and why.
    skipped: Vec<String>,
    /// The same for people.
    text: String,
}

async fn take_over(mail: &Arc<Mail>, importer: Result<&Session, String>, found: import::Found) -> TakenOver {
    let mut done = TakenOver::default();
    let mut skipped = 0_u64;
    let mut skip = |done: &mut TakenOver, what: String| {
        skipped += 1;
        if done.skipped.len() < 20 {
            done.skipped.push(one_line(&what, 300));
        }
    };
    for agent in &found.agents {
        let alias = Some(agent.id.clone()).filter(|id| *id != agent.name);
        let role = Role::new(&agent.role).ok();
        let profile = Profile { role, module: Some(agent.module.clone()), alias, ..Profile::default() };
        let registered = match AgentName::new(&agent.name) {
            Ok(name) => mail.register(&name, profile).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match registered {
            Ok(true) => done.agents += 1,
            Ok(false) => done.known += 1,
            Err(why) => skip(&mut done, format!("agent {}: {why}", agent.id)),
        }
    }
    for group in &found.groups {
        // Groups belong to whoever makes them here.
        let made = match &importer {
            Ok(session) => make_group(mail, session, group).await.map_err(|error| error.to_string()),
            Err(why) => Err(why.clone()),
        };
        match made {
            Ok(true) => done.groups += 1,
            Ok(false) => done.known += 1,
            Err(why) => skip(&mut done, format!("group {}: {why}", group.name)),
        }
    }
    for message in found.messages {
        let id = message.id.clone();
        match letter(&found.agents, &found.groups, message) {
            Ok(letter) => match mail.import(letter).await {
                Ok(imported) if imported.is_new => done.messages += 1,
                Ok(_) => done.known += 1,
                Err(error) => skip(&mut done, format!("message {id}: {error}")),
            },
            Err(why) => skip(&mut done, format!("message {id}: {why}")),
        }
    }
    done.text = format!(
        "Took over {} agents, {} groups and {} messages, all read; {} were here already, {} were left out, {} lines could not be read.",
        done.agents, done.groups, done.messages, done.known, skipped, found.unreadable
    );
    done.skipped.iter().for_each(|why| done.text.push_str(&format!("\n  left out: {why}")));
    done
}

/// Makes a group with its members; says whether it is new.
async fn make_group(mail: &Mail, session: &Session, group: &import::FoundGroup) -> Result<bool, crate::MailError> {
    let is_new = match mail.create_group(session, &group.name, &group.description).await {
        Ok(_) => true,
        Err(crate::MailError::Refused(crate::Refusal::GroupExists { .. })) => false,
        Err(error) => return Err(error),
    };
    for (kind, id) in &group.members {
        mail.add_member(session, &group.name, member(kind, id)?).await?;
    }
    Ok(is_new)
}

/// A message as the store takes it. The log does not tell who read what: it is history, so all of it counts as read.
fn letter(
    agents: &[import::FoundAgent],
    groups: &[import::FoundGroup],
    message: import::FoundMessage,
) -> Result<Import, String> {
    let named = |name: &str| agents.iter().filter(|agent| agent.name == name).collect::<Vec<_>>();
    let of_role = |role: &str| agents.iter().filter(|agent| agent.role == role).collect::<Vec<_>>();
    let mut recipients = std::collections::BTreeSet::new();
    for to in &message.to {
        let reached: Vec<&import::FoundAgent> = match to.strip_prefix("group:") {
            Some("everyone") => agents.iter().collect(),
            Some(name) => {
                let members = groups.iter().filter(|group| group.name == name).flat_map(|group| &group.members);
                members.flat_map(|(kind, id)| if kind == "role" { of_role(id) } else { named(id) }).collect()
            }
            None if !named(to).is_empty() => named(to),
            None => of_role(to),
        };
        recipients.extend(reached.into_iter().map(|agent| agent.name.clone()));
    }
    recipients.remove(&message.from);
    let name = |name: &str| AgentName::new(name).map_err(|error| error.to_string());
    let id = |id: &str| MessageId::new(id).map_err(|error| error.to_string());
    Ok(Import {
        id: id(&message.id)?,
        sender: name(&message.from)?,
        recipients: recipients.iter().map(|agent| Ok((name(agent)?, true))).collect::<Result<_, String>>()?,
        to: message.to,
        content: message.content.into(),
        priority: Priority::Normal,
        reply_to: message.reply_to.as_deref().and_then(|reply_to| id(reply_to).ok()),
        metadata: "{}".to_owned(),
        at: message.at,
    })
}

fn parse<T: Default + for<'a> Deserialize<'a>>(params: Option<Box<RawValue>>) -> Result<T, RpcError> {
    params
        .map_or_else(|| Ok(T::default()), |params| serde_json::from_str(params.get()))
        .map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))
}

fn refused(error: ToolError) -> RpcError {
    RpcError::new(INVALID_PARAMS, error.to_string())
}

fn failed(error: crate::MailError) -> RpcError {
    refused(crate::tools::failed(error))
}

fn result(value: &impl Serialize) -> Result<Box<RawValue>, RpcError> {
    to_raw_value(value).map_err(|error| RpcError::new(INTERNAL, error.to_string()))
}

//! `mail/import`: imports agents, groups and messages from another system's log.

use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::Context;
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{refused, result};
use crate::callers::Callers;
use crate::framing::counted;
use crate::framing::one_line;
use crate::import;
use crate::model::{AgentName, MessageId, Priority, Profile, Role, Session};
use crate::service::Mail;
use crate::service::agents::member;
use crate::store::change::Import;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportFrom {
    /// A `.thrum` directory, or the repository around it.
    thrum: PathBuf,
}

/// Handles `mail/import {thrum}` for the project at `root`. The answer counts the imported entries.
pub async fn import(
    callers: Arc<Callers>,
    root: PathBuf,
    cx: Context,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let params = params.ok_or_else(|| RpcError::new(INVALID_PARAMS, "`thrum` is missing"))?;
    let ImportFrom { thrum } =
        serde_json::from_str(params.get()).map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))?;
    let mail = callers.mail().await.map_err(refused)?;
    let found = tokio::task::spawn_blocking(move || import::read(&thrum, &root))
        .await
        .map_err(|error| RpcError::new(INTERNAL, error.to_string()))?
        .map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))?;
    let importer = callers.enter(&cx).await.map(|(_, session)| session);
    result(&take_over(&mail, importer.as_ref().map_err(|error| error.to_string()), found).await)
}

/// The counts of imported entries.
#[derive(Debug, Default, Serialize)]
struct TakenOver {
    agents: u64,
    groups: u64,
    messages: u64,
    /// Messages that were already here.
    known: u64,
    /// Entries that could not be imported, with the reason.
    skipped: Vec<String>,
    /// The summary for people.
    text: String,
}

async fn take_over(mail: &Arc<Mail>, importer: Result<&Session, String>, found: import::LogContents) -> TakenOver {
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
        // The importer becomes the creator of a group.
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
        "Imported {}, {} and {}, all marked as read. Already present: {}; skipped: {}; unreadable: {}.",
        counted(done.agents, "agent"),
        counted(done.groups, "group"),
        counted(done.messages, "message"),
        done.known,
        skipped,
        counted(found.unreadable, "line")
    );
    if let Some(place) = &found.first_unreadable {
        done.text.push_str(&format!("\n  not an event: {}", project::visible(place)));
    }
    done.skipped.iter().for_each(|why| done.text.push_str(&format!("\n  skipped: {why}")));
    done
}

/// Makes a group with its members; returns whether it is new.
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

/// Builds a message for the store. The log does not record readers, so every message counts as read.
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

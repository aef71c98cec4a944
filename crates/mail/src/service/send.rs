//! Sending to names, roles, groups and all agents. `Ok` means that the message is on disk.

use std::collections::BTreeSet;

use crate::journal::Record;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Mail;
use crate::error::{MailError, Refusal, StoreError};
use crate::model::address::nearest;
use crate::model::{Address, AgentName, Clock, Liveness, MessageId, Millis, Priority, Resolution, Session};
use crate::store::change::{Append, Appended};
use crate::store::query;

/// The longest idempotency key.
const KEY_BYTES: usize = 200;

/// A message to send.
#[derive(Debug, Clone, Default)]
pub struct SendRequest {
    /// Addresses. If empty, the message goes to the author of the message that it answers.
    pub to: Vec<String>,
    pub content: String,
    /// The id of the message that this one answers.
    pub reply_to: Option<String>,
    pub priority: Priority,
    pub metadata: Map<String, Value>,
    /// Makes the call safe to repeat.
    pub idempotency_key: Option<String>,
}

/// A message to all agents.
#[derive(Debug, Clone, Default)]
pub struct BroadcastRequest {
    pub content: String,
    pub priority: Priority,
    /// True if only agents that are active now get the message.
    pub active_only: bool,
    /// Agents to leave out.
    pub exclude: Vec<String>,
    /// Makes the call safe to repeat.
    pub idempotency_key: Option<String>,
}

/// A message that is on disk.
#[derive(Debug, Clone)]
pub struct SentMessage {
    pub id: MessageId,
    pub thread: MessageId,
    /// Time of storing.
    pub at: Millis,
    /// How each address was resolved.
    pub resolved: Vec<Resolution>,
    pub recipients: Vec<SentTo>,
    /// Agents whose mailbox was full.
    pub failed: Vec<AgentName>,
    /// True if an earlier call with this key sent the message.
    pub is_replay: bool,
    /// True if the message still waits in the spool.
    pub is_queued: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentTo {
    pub agent: AgentName,
    /// Its sequence number there.
    pub seq: u64,
    pub standing: Liveness,
}

impl Mail {
    /// Sends a message.
    ///
    /// # Errors
    /// When a name is unknown, there are too many recipients, every mailbox is full, the message is too long, the key
    /// was used for another message, or the store is unavailable. Nothing was sent then, unless the error is
    /// [`StoreError::Uncertain`].
    pub async fn send(&self, session: &Session, request: SendRequest) -> Result<SentMessage, MailError> {
        self.seen.mark(&session.agent);
        let reply_to = request.reply_to.as_deref().map(MessageId::new).transpose()?;
        let mut to = request.to.iter().map(|text| Address::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if to.is_empty() {
            let Some(id) = &reply_to else {
                let why = "is missing: give a recipient, or the message that it answers".to_owned();
                return Err(Refusal::Argument { argument: "to", why }.into());
            };
            to = vec![self.other_side(session, id).await?];
        }
        self.prepare_user(&to).await?;
        let append = Append {
            id: MessageId::mint(Clock::system().now()),
            sender: session.clone(),
            to,
            among: None,
            exclude: BTreeSet::new(),
            content: request.content.into(),
            priority: request.priority,
            reply_to,
            metadata: Value::Object(request.metadata).to_string(),
            key: checked_key(request.idempotency_key)?,
            hash: [0; 32],
        };
        self.append(append).await
    }

    /// Sends a message to all agents except its sender. `None` if there is no recipient.
    ///
    /// # Errors
    /// As [`Mail::send`].
    pub async fn broadcast(
        &self,
        session: &Session,
        request: BroadcastRequest,
    ) -> Result<Option<SentMessage>, MailError> {
        self.seen.mark(&session.agent);
        let roster = self.roster().await?;
        let mut exclude = BTreeSet::from([session.agent.clone()]);
        for name in &request.exclude {
            let bare = name.trim().trim_start_matches('@');
            let Some(agent) = roster.agents.iter().find(|agent| agent.name.as_str() == bare) else {
                let nearest = nearest(bare, roster.agents.iter().map(|agent| agent.name.to_string()));
                return Err(Refusal::UnknownAgent { name: bare.chars().take(80).collect(), nearest }.into());
            };
            exclude.insert(agent.name.clone());
        }
        let active = roster.agents.iter().filter(|agent| agent.standing == Liveness::Active);
        let among = request.active_only.then(|| active.map(|agent| agent.name.clone()).collect());
        let append = Append {
            id: MessageId::mint(Clock::system().now()),
            sender: session.clone(),
            to: vec![Address::everyone()],
            among,
            exclude,
            content: request.content.into(),
            priority: request.priority,
            reply_to: None,
            metadata: "{}".to_owned(),
            key: checked_key(request.idempotency_key)?,
            hash: [0; 32],
        };
        match self.append(append).await {
            Ok(sent) => Ok(Some(sent)),
            Err(MailError::Refused(Refusal::NoRecipients { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn append(&self, mut append: Append) -> Result<SentMessage, MailError> {
        // Checked before the message is copied; the store checks again.
        crate::store::rules::append::check_size(&append.content, &append.metadata, &self.limits)?;
        if append.key.is_some() {
            append.hash = hash(&append);
        }
        let from = append.sender.agent.clone();
        if let Some(spool) = self.crowded_spool() {
            // Earlier sends go first.
            return self.queue(spool, append, "messages wait for the mail store".to_owned()).await;
        }
        let id = append.id.clone();
        let spare = self.spool.as_ref().filter(|_| append.among.is_none()).map(|spool| (spool, append.clone()));
        let appended = match (self.retry_uncertain(append).await, spare) {
            (Err(MailError::Store(error @ (StoreError::Away { .. } | StoreError::Uncertain { .. }))), Some(spare)) => {
                // If the message was stored after all, its id is known and it is not stored again.
                return self.queue(spare.0, spare.1, error.to_string()).await;
            }
            (Err(MailError::Store(StoreError::Uncertain { reason })), None) => {
                let reason = format!("{reason}; it may have stored {id}");
                return Err(StoreError::Uncertain { reason }.into());
            }
            (Err(MailError::Refused(refusal)), _) => return Err(self.with_neighbours(refusal).await.into()),
            (other, _) => other?,
        };
        self.record(|| Record::MailStored {
            message: appended.id.to_string(),
            from: from.to_string(),
            recipients: appended.sent.len() as u64,
        });
        let sent = self.sent(appended);
        if !sent.is_replay {
            self.note_pace(from, &sent);
        }
        Ok(sent)
    }

    fn sent(&self, appended: Appended) -> SentMessage {
        let at = appended.at;
        let recipients = appended.sent.into_iter().map(|to| SentTo {
            standing: self.liveness(&to.agent, at, to.seen_at),
            agent: to.agent,
            seq: to.seq,
        });
        SentMessage {
            id: appended.id,
            thread: appended.thread,
            at,
            resolved: appended.resolved,
            recipients: recipients.collect(),
            failed: appended.full,
            is_replay: appended.is_replay,
            is_queued: false,
        }
    }

    /// Returns the author of the message; if the caller is the author, its recipient.
    async fn other_side(&self, session: &Session, id: &MessageId) -> Result<Address, MailError> {
        let agent = session.agent.clone();
        let found = self.store.query(query::Find { agent: agent.clone(), id: id.clone() }).await?;
        let message = found.ok_or_else(|| Refusal::UnknownMessage { id: id.clone(), agent: agent.clone() })?;
        if message.from != agent && !message.from.is_system() {
            return Ok(Address::agent(&message.from));
        }
        match &message.to[..] {
            [one] if !message.from.is_system() => Ok(Address::parse(one)?),
            _ => {
                let why = format!("is missing, and {id} was written by you or by hob: give a recipient");
                Err(Refusal::Argument { argument: "to", why }.into())
            }
        }
    }

    /// Adds the nearest names to a refusal.
    pub(crate) async fn with_neighbours(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::UnknownRecipient { address, .. } => {
                let bare = address.rsplit(':').next().unwrap_or_default().to_owned();
                Refusal::UnknownRecipient { nearest: self.nearest(&bare).await, address }
            }
            Refusal::UnknownAgent { name, .. } => Refusal::UnknownAgent { nearest: self.nearest(&name).await, name },
            Refusal::UnknownGroup { name, .. } => {
                let groups = self.store.query(query::Groups { name: None }).await.unwrap_or_default();
                let nearest = nearest(&name, groups.iter().map(|group| group.name.to_string()));
                Refusal::UnknownGroup { name, nearest }
            }
            other => other,
        }
    }

    async fn nearest(&self, name: &str) -> Vec<String> {
        let agents = self.store.query(query::Agents).await.map(|roster| roster.agents).unwrap_or_default();
        let groups = self.store.query(query::Groups { name: None }).await.unwrap_or_default();
        let names = agents.iter().flat_map(|agent| [agent.name.to_string(), agent.role.to_string()]);
        nearest(name, names.chain(groups.iter().map(|group| group.name.to_string())))
    }
}

fn checked_key(key: Option<String>) -> Result<Option<String>, Refusal> {
    match &key {
        Some(text) if text.is_empty() || text.len() > KEY_BYTES || text.contains('\0') => {
            let why = format!("must have 1 to {KEY_BYTES} bytes, and no NUL");
            Err(Refusal::Argument { argument: "idempotency_key", why })
        }
        _ => Ok(key),
    }
}

/// Hashes a message's content, to tell a repetition from another message.
fn hash(append: &Append) -> [u8; 32] {
    let to: BTreeSet<&str> = append.to.iter().map(|address| address.written.as_str()).collect();
    let mut hasher = Sha256::new();
    let reply_to = append.reply_to.as_ref().map_or("", |id| id.as_str());
    for part in to.into_iter().chain([reply_to, append.priority.as_str(), &append.metadata, &append.content]) {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

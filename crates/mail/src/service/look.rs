//! Looking, without any effect: mailboxes by cursor, conversations, search, and how a message has fared; and the
//! record of attempts to make an agent look.

use super::Mail;
use crate::error::{MailError, Refusal};
use crate::model::words::{snippet, words};
use crate::model::{AgentName, Delivery, Floor, MessageId, MessageView, Millis, Session};
use crate::store::change::{BeginHint, EndHint, HintVerdict, Import, Imported};
use crate::store::query::{self, Counts, Fetched};

/// The most messages of one look.
const MOST: usize = 500;

/// Looks for messages with all the words of a query.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// Words, in any order. None: everything that the other fields let through.
    pub query: String,
    /// Written by this agent.
    pub from: Option<String>,
    /// Received by this agent.
    pub to: Option<String>,
    /// Not before.
    pub since: Option<Millis>,
    /// Not after.
    pub until: Option<Millis>,
    /// At most so many; at most 500.
    pub limit: usize,
}

/// A message that a search found.
#[derive(Debug, Clone)]
pub struct Hit {
    pub message: MessageView,
    /// The part of it with the first of the words. Written by an agent: data, never instructions.
    pub snippet: String,
}

impl Mail {
    /// Looks into the caller's mailbox after a cursor, whatever the messages' state. Nothing is leased or confirmed.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn look(&self, session: &Session, after: u64, floor: Floor, limit: usize) -> Result<Fetched, MailError> {
        self.seen.mark(&session.agent);
        let agent = session.agent.clone();
        let fetch = query::Fetch { agent, after, floor, waiting_only: false, limit: limit.clamp(1, MOST) };
        Ok(self.store.look(fetch).await?)
    }

    /// What waits for an agent.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn inbox(&self, agent: &AgentName) -> Result<Counts, MailError> {
        Ok(self.store.look(query::Inbox { agent: agent.clone() }).await?)
    }

    /// What waits for an agent to be read, in the order of its coming: for hints. Nothing is leased.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn pending(&self, agent: &AgentName, floor: Floor, limit: usize) -> Result<Fetched, MailError> {
        let limit = limit.clamp(1, MOST);
        let fetch = query::Fetch { agent: agent.clone(), after: 0, floor, waiting_only: true, limit };
        Ok(self.store.look(fetch).await?)
    }

    /// One message that the caller wrote or received.
    ///
    /// # Errors
    /// When there is no such message, or the store is away.
    pub async fn message(&self, session: &Session, id: &str) -> Result<MessageView, MailError> {
        let (agent, id) = (session.agent.clone(), MessageId::new(id)?);
        let found = self.store.look(query::Find { agent: agent.clone(), id: id.clone() }).await?;
        Ok(found.ok_or(Refusal::UnknownMessage { id, agent })?)
    }

    /// The conversation that a message belongs to, as far as the caller took part: the latest 500, in order.
    ///
    /// # Errors
    /// When the caller neither wrote nor received the message, or the store is away.
    pub async fn thread(&self, session: &Session, id: &str) -> Result<Vec<MessageView>, MailError> {
        self.seen.mark(&session.agent);
        let (agent, id) = (session.agent.clone(), MessageId::new(id)?);
        let found = self.store.look(query::Thread { agent: agent.clone(), id: id.clone(), limit: MOST }).await?;
        Ok(found.ok_or(Refusal::UnknownMessage { id, agent })?)
    }

    /// Looks for messages that the caller wrote or received, newest first.
    ///
    /// # Errors
    /// When a name is none, or the store is away.
    pub async fn search(&self, session: &Session, request: SearchRequest) -> Result<Vec<Hit>, MailError> {
        self.seen.mark(&session.agent);
        let name = |text: &Option<String>| -> Result<Option<AgentName>, Refusal> {
            let Some(text) = text else { return Ok(None) };
            let bare = text.trim().trim_start_matches('@');
            Ok(Some(if bare == "hob" { AgentName::system() } else { AgentName::new(bare)? }))
        };
        let words = words(&request.query);
        if words.is_empty() && !request.query.trim().is_empty() {
            let why = "it holds no word: letters and digits are searched".to_owned();
            return Err(Refusal::Argument { argument: "query", why }.into());
        }
        let search = query::Search {
            agent: Some(session.agent.clone()),
            words: words.clone(),
            from: name(&request.from)?,
            to: name(&request.to)?,
            since: request.since,
            until: request.until,
            limit: request.limit.clamp(1, MOST),
        };
        let found = self.store.look(search).await?;
        Ok(found.into_iter().map(|message| Hit { snippet: snippet(&message.content, &words), message }).collect())
    }

    /// How a message has fared with each of its recipients. Only those who wrote or received it may know.
    ///
    /// # Errors
    /// When the caller neither wrote nor received the message, or the store is away.
    pub async fn delivery_status(&self, session: &Session, id: &str) -> Result<Vec<Delivery>, MailError> {
        self.seen.mark(&session.agent);
        let (agent, id) = (session.agent.clone(), MessageId::new(id)?);
        let found = self.store.look(query::Status { agent: agent.clone(), id: id.clone() }).await?;
        Ok(found.ok_or(Refusal::UnknownMessage { id, agent })?)
    }

    /// Whether to make an agent look at a message in this way: once for each message and way, and only while it waits.
    /// The attempt is on record when this says [`HintVerdict::Go`].
    ///
    /// # Errors
    /// When the store is away.
    pub async fn begin_hint(
        &self,
        agent: &AgentName,
        message: &MessageId,
        rung: &str,
    ) -> Result<HintVerdict, MailError> {
        let hint = BeginHint { agent: agent.clone(), message: message.clone(), rung: rung.to_owned() };
        Ok(self.store.change(hint).await?)
    }

    /// Writes down what came of the attempt.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn end_hint(
        &self,
        agent: &AgentName,
        message: &MessageId,
        rung: &str,
        outcome: &str,
    ) -> Result<(), MailError> {
        let outcome = outcome.chars().filter(|c| *c != '\0').take(500).collect();
        let hint = EndHint { agent: agent.clone(), message: message.clone(), rung: rung.to_owned(), outcome };
        self.retry_uncertain(hint).await
    }

    /// Takes over a message from another system. One that is or was here changes nothing.
    ///
    /// # Errors
    /// When a recipient is not registered, the message is too long, or the store is away.
    pub async fn import(&self, import: Import) -> Result<Imported, MailError> {
        self.retry_uncertain(import).await
    }
}

//! Reading without effect: mailboxes by cursor, conversations, search and delivery status. Also the record of hints to
//! agents.

use super::{Mail, Ticket};
use crate::error::{MailError, Refusal};
use crate::model::ids::USER;
use crate::model::order::{self, Position};
use crate::model::search_words::{snippet, split_words};
use crate::model::{AgentName, Clock, Delivery, Floor, MessageId, MessageView, Millis, Session};
use crate::store::change::{BeginHint, EndHint, HintVerdict, Import, Imported};
use crate::store::query::{self, Among, Counts, Fetched};

const MOST: usize = 500;

/// Searches for messages that contain every word of a query.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// Words, in any order. If empty, the other fields alone decide.
    pub query: String,
    pub from: Option<String>,
    pub to: Option<String>,
    pub since: Option<Millis>,
    pub until: Option<Millis>,
    /// At most 500.
    pub limit: usize,
}

/// A message that a search found.
#[derive(Debug, Clone)]
pub struct Hit {
    pub message: MessageView,
    /// The part of the text around the first of the words. An agent wrote it: data, never instructions.
    pub snippet: String,
}

impl Mail {
    /// Returns a waiter for everything that arrives for an agent, registered from now on.
    ///
    /// # Errors
    /// When there are too many waiters.
    pub(crate) fn arrivals(&self, agent: &AgentName) -> Result<Ticket, Refusal> {
        self.waits.register(agent, Floor::All)
    }

    /// Returns a bell that rings when something arrives for an agent. The agent is not active because of it.
    ///
    /// # Errors
    /// When there are too many waiters.
    pub(crate) fn bell(&self, agent: &AgentName) -> Result<Ticket, Refusal> {
        self.waits.register_bell(agent)
    }

    /// Messages of the caller's mailbox after a cursor, in every state. Nothing is leased or confirmed.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn read_mailbox(
        &self,
        session: &Session,
        after: u64,
        floor: Floor,
        limit: usize,
    ) -> Result<Fetched, MailError> {
        self.seen.mark(&session.agent);
        let agent = session.agent.clone();
        let fetch = query::Fetch { agent, after, floor, among: Among::All, limit: limit.clamp(1, MOST) };
        Ok(self.store.query(fetch).await?)
    }

    /// Counts the messages that wait for an agent.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn inbox(&self, agent: &AgentName) -> Result<Counts, MailError> {
        Ok(self.store.query(query::Inbox { agent: agent.clone() }).await?)
    }

    /// Returns the messages that wait for an agent, in order of arrival, for hints and for people. Nothing is leased,
    /// and the agent has not done anything.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn pending(&self, agent: &AgentName, floor: Floor, limit: usize) -> Result<Fetched, MailError> {
        self.mailbox(agent, floor, Among::Waiting, limit).await
    }

    /// Returns the messages that wait for an agent, in the order in which it would be handed them. Nothing is leased,
    /// and the agent has not done anything.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn in_order(&self, agent: &AgentName, floor: Floor, limit: usize) -> Result<Fetched, MailError> {
        let mut found = self.mailbox(agent, floor, Among::Waiting, MOST).await?;
        let position =
            |message: &MessageView| Position { priority: message.priority, seq: message.seq, at: message.at };
        let aging = Millis::try_from(self.limits().aging.as_millis()).unwrap_or(Millis::MAX);
        let before = found.messages.len();
        found.messages = order::pick(found.messages, position, Clock::system().now(), aging, limit);
        found.remaining += (before - found.messages.len()) as u64;
        Ok(found)
    }

    /// Like [`Mail::pending`], for messages in other states.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn mailbox(
        &self,
        agent: &AgentName,
        floor: Floor,
        among: Among,
        limit: usize,
    ) -> Result<Fetched, MailError> {
        let limit = limit.clamp(1, MOST);
        let fetch = query::Fetch { agent: agent.clone(), after: 0, floor, among, limit };
        Ok(self.store.query(fetch).await?)
    }

    /// Returns one message that the caller wrote or received.
    ///
    /// # Errors
    /// When the message does not exist, or the store is unavailable.
    pub async fn message(&self, session: &Session, id: &str) -> Result<MessageView, MailError> {
        let (agent, id) = (session.agent.clone(), MessageId::new(id)?);
        let found = self.store.query(query::Find { agent: agent.clone(), id: id.clone() }).await?;
        Ok(found.ok_or(Refusal::UnknownMessage { id, agent })?)
    }

    /// Returns the ids that begin so, of messages that the agent wrote or received; newest first. The agent has not
    /// done anything.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn ids(&self, agent: &AgentName, beginning: &str, limit: usize) -> Result<Vec<MessageId>, MailError> {
        let id = Some(beginning.to_ascii_lowercase());
        let search = query::Search { agent: Some(agent.clone()), id, limit, ..query::Search::default() };
        Ok(self.store.query(search).await?.into_iter().map(|message| message.id).collect())
    }

    /// Returns the part of a message's conversation that the caller wrote or received: the latest 500 messages, in
    /// order.
    ///
    /// # Errors
    /// When the caller neither wrote nor received the message, or the store is unavailable.
    pub async fn thread(&self, session: &Session, id: &str) -> Result<Vec<MessageView>, MailError> {
        self.seen.mark(&session.agent);
        let (agent, id) = (session.agent.clone(), MessageId::new(id)?);
        let found = self.store.query(query::Thread { agent: agent.clone(), id: id.clone(), limit: MOST }).await?;
        Ok(found.ok_or(Refusal::UnknownMessage { id, agent })?)
    }

    /// Searches the messages that the caller wrote or received, newest first.
    ///
    /// # Errors
    /// When a name is invalid, or the store is unavailable.
    pub async fn search(&self, session: &Session, request: SearchRequest) -> Result<Vec<Hit>, MailError> {
        self.seen.mark(&session.agent);
        let name = |text: &Option<String>| -> Result<Option<AgentName>, Refusal> {
            let Some(text) = text else { return Ok(None) };
            let bare = text.trim().trim_start_matches('@');
            Ok(Some(match bare {
                "hob" => AgentName::system(),
                USER => AgentName::user(),
                bare => AgentName::new(bare)?,
            }))
        };
        let words = split_words(&request.query);
        if words.is_empty() && !request.query.trim().is_empty() {
            let why = "contains no letters or digits to search for".to_owned();
            return Err(Refusal::Argument { argument: "query", why }.into());
        }
        let search = query::Search {
            agent: Some(session.agent.clone()),
            words: words.clone(),
            from: name(&request.from)?,
            to: name(&request.to)?,
            since: request.since,
            until: request.until,
            id: None,
            limit: request.limit.clamp(1, MOST),
        };
        let names = [&search.from, &search.to].map(Clone::clone);
        let found = self.store.query(search).await?;
        if found.is_empty() {
            // Messages of a removed agent are still found by its name.
            for name in names.into_iter().flatten().filter(|name| !name.is_system() && !name.is_user()) {
                self.agent(name.as_str()).await?;
            }
        }
        Ok(found.into_iter().map(|message| Hit { snippet: snippet(&message.content, &words), message }).collect())
    }

    /// Returns the deliveries of a message. Only its author and its recipients may see them.
    ///
    /// # Errors
    /// When the caller neither wrote nor received the message, or the store is unavailable.
    pub async fn delivery_status(&self, session: &Session, id: &str) -> Result<Vec<Delivery>, MailError> {
        self.seen.mark(&session.agent);
        let (agent, id) = (session.agent.clone(), MessageId::new(id)?);
        let found = self.store.query(query::Status { agent: agent.clone(), id: id.clone() }).await?;
        Ok(found.ok_or(Refusal::UnknownMessage { id, agent })?)
    }

    /// Decides whether to hint an agent at a message on this rung: once per message and rung, and only while the message
    /// waits. [`HintVerdict::Go`] means that the attempt is recorded.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn begin_hint(
        &self,
        agent: &AgentName,
        message: &MessageId,
        rung: &str,
    ) -> Result<HintVerdict, MailError> {
        let hint = BeginHint { agent: agent.clone(), message: message.clone(), rung: rung.to_owned() };
        Ok(self.store.change(hint).await?)
    }

    /// Records the outcome of a hint.
    ///
    /// # Errors
    /// When the store is unavailable.
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

    /// Stores a message of another system. If its id is known, nothing changes.
    ///
    /// # Errors
    /// When a recipient is not registered, the message is too long, or the store is unavailable.
    pub async fn import(&self, import: Import) -> Result<Imported, MailError> {
        self.retry_uncertain(import).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::Priority;
    use crate::service::fixture::{enter, mail};
    use crate::service::receive::CheckRequest;
    use crate::service::send::SendRequest;

    const HOOK: &str = "hook:stop";

    async fn send(mail: &Mail, from: &Session, to: &str, priority: Priority) -> String {
        let request =
            SendRequest { to: vec![to.to_owned()], content: "x".to_owned(), priority, ..SendRequest::default() };
        mail.send(from, request).await.unwrap().id.to_string()
    }

    /// Returns the waiting messages to hint at on this rung now; each is recorded as hinted.
    async fn due(mail: &Mail, agent: &AgentName, rung: &str, floor: Floor) -> Vec<String> {
        let mut due = Vec::new();
        for message in mail.pending(agent, floor, 50).await.unwrap().messages {
            if mail.begin_hint(agent, &message.id, rung).await.unwrap() == HintVerdict::Go {
                due.push(message.id.to_string());
            }
        }
        due
    }

    async fn end(mail: &Mail, agent: &AgentName, rung: &str, ids: &[String], outcome: &str) {
        for id in ids {
            mail.end_hint(agent, &MessageId::new(id).unwrap(), rung, outcome).await.unwrap();
        }
    }

    async fn hints(mail: &Mail, who: &Session, id: &str) -> Vec<String> {
        let Delivery { hints, .. } = mail.delivery_status(who, id).await.unwrap().remove(0);
        hints.iter().map(|hint| format!("{}: {}", hint.rung, hint.outcome.as_deref().unwrap_or("?"))).collect()
    }

    async fn read(mail: &Mail, agent: &Session) {
        mail.check(agent, CheckRequest::default()).await.unwrap();
        mail.confirm(agent).await.unwrap();
    }

    #[tokio::test]
    async fn one_hint_a_message_and_rung_and_none_for_what_was_read() {
        let mail = mail().await;
        let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
        let first = send(&mail, &ann, "bob", Priority::Normal).await;
        let told = due(&mail, &bob.agent, HOOK, Floor::All).await;
        assert_eq!(told, std::slice::from_ref(&first));
        end(&mail, &bob.agent, HOOK, &told, "shown").await;
        assert!(due(&mail, &bob.agent, HOOK, Floor::All).await.is_empty(), "told once");
        assert!(due(&mail, &bob.agent, "hook:tool", Floor::HighAndAbove).await.is_empty(), "it can wait");
        let told = due(&mail, &bob.agent, "hook:prompt", Floor::All).await;
        end(&mail, &bob.agent, "hook:prompt", &told, "shown").await;

        let second = send(&mail, &ann, "bob", Priority::Critical).await;
        read(&mail, &bob).await;
        assert!(due(&mail, &bob.agent, "hook:tool", Floor::HighAndAbove).await.is_empty(), "it was read meanwhile");
        assert_eq!(hints(&mail, &ann, &first).await, ["hook:stop: shown", "hook:prompt: shown"]);
        assert_eq!(hints(&mail, &ann, &second).await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn what_was_confirmed_while_one_rung_failed_is_not_worth_the_next() {
        let mail = mail().await;
        let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
        let id = send(&mail, &ann, "bob", Priority::Critical).await;
        let told = due(&mail, &bob.agent, "channel:slow", Floor::All).await;
        read(&mail, &bob).await;
        end(&mail, &bob.agent, "channel:slow", &told, "failed: too late").await;
        assert!(due(&mail, &bob.agent, "channel:b", Floor::All).await.is_empty());
        assert_eq!(hints(&mail, &ann, &id).await, ["channel:slow: failed: too late"]);
    }

    #[tokio::test]
    async fn what_an_agent_has_in_hand_is_no_news_to_it() {
        let mail = mail().await;
        let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
        // A waiter gets the message itself, so it needs no hint.
        let waiting = {
            let (mail, bob) = (Arc::clone(&mail), bob.clone());
            tokio::spawn(async move { mail.wait(&bob, Default::default()).await.unwrap() })
        };
        while mail.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        let id = send(&mail, &ann, "bob", Priority::Critical).await;
        assert_eq!(waiting.await.unwrap().messages.len(), 1);
        assert!(due(&mail, &bob.agent, "channel:a", Floor::All).await.is_empty());
        assert!(due(&mail, &bob.agent, HOOK, Floor::All).await.is_empty());
        assert_eq!(mail.begin_hint(&bob.agent, &MessageId::new(&id).unwrap(), HOOK).await.unwrap(), HintVerdict::Moot);
        assert_eq!(hints(&mail, &ann, &id).await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn the_next_rung_when_one_fails_and_all_of_it_on_record() {
        let mail = mail().await;
        let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
        let id = send(&mail, &ann, "bob", Priority::High).await;
        for (rung, outcome) in [("channel:a", "failed: not loaded"), ("channel:b", "taken")] {
            let told = due(&mail, &bob.agent, rung, Floor::All).await;
            assert_eq!(told, std::slice::from_ref(&id));
            end(&mail, &bob.agent, rung, &told, outcome).await;
            assert!(due(&mail, &bob.agent, rung, Floor::All).await.is_empty(), "told once");
        }
        assert_eq!(hints(&mail, &ann, &id).await, ["channel:a: failed: not loaded", "channel:b: taken"]);
        // An agent that was never hinted at a message has no record.
        let other = send(&mail, &bob, "ann", Priority::High).await;
        assert_eq!(hints(&mail, &bob, &other).await, Vec::<String>::new());
    }
}

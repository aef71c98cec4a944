//! Subscriptions: everything that comes into a mailbox, from a cursor on, in order, without taking it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Mail;
use super::waits::Ticket;
use crate::error::MailError;
use crate::model::{Floor, MessageView, Session};
use crate::store::query;

/// How many messages are read ahead.
const AHEAD: usize = 100;

/// What a wait with a cursor saw.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Messages after the cursor, in order; none when the time was up.
    pub messages: Vec<MessageView>,
    /// How long it took.
    pub waited: Duration,
    /// How many more there are.
    pub remaining: u64,
    /// How many later ones are not urgent enough.
    pub below_floor: u64,
    /// The mailbox's last sequence number.
    pub tip: u64,
}

/// Everything that comes into a mailbox, in order. Leases nothing and confirms nothing.
pub struct Subscription {
    mail: Arc<Mail>,
    session: Session,
    floor: Floor,
    after: u64,
    ticket: Ticket,
    read: VecDeque<MessageView>,
}

impl Subscription {
    /// The next message. Cancel safe: nothing is skipped.
    ///
    /// # Errors
    /// When the store is away; calling again goes on.
    pub async fn next(&mut self) -> Result<MessageView, MailError> {
        loop {
            if let Some(message) = self.read.pop_front() {
                self.after = message.seq;
                return Ok(message);
            }
            let fetch = query::Fetch {
                agent: self.session.agent.clone(),
                after: self.after,
                floor: self.floor,
                waiting_only: false,
                limit: AHEAD,
            };
            self.read = self.mail.store.look(fetch).await?.messages.into();
            if self.read.is_empty() {
                self.ticket.woken().await;
            }
        }
    }

    /// The cursor: the sequence of the last message given.
    pub fn cursor(&self) -> u64 {
        self.after
    }
}

impl Mail {
    /// Subscribes to the caller's mailbox: what is there after the cursor, then all that comes. Without a cursor,
    /// only what comes from now on.
    ///
    /// # Errors
    /// When too many wait, or the store is away.
    pub async fn subscribe(
        self: &Arc<Mail>,
        session: &Session,
        floor: Floor,
        after: Option<u64>,
    ) -> Result<Subscription, MailError> {
        // Registered before the tip is read, so that nothing falls in between.
        let ticket = self.waits.register(&session.agent, floor)?;
        let after = match after {
            Some(after) => after,
            None => self.inbox(&session.agent).await?.tip,
        };
        Ok(Subscription {
            mail: Arc::clone(self),
            session: session.clone(),
            floor,
            after,
            ticket,
            read: VecDeque::new(),
        })
    }

    /// Waits until there is something urgent enough after the cursor. It only looks: nothing is leased or confirmed.
    ///
    /// # Errors
    /// When too many wait, or the store is away.
    pub async fn wait_after(
        &self,
        session: &Session,
        after: u64,
        floor: Floor,
        max: usize,
        timeout: Duration,
    ) -> Result<Seen, MailError> {
        let begin = Instant::now();
        let deadline = begin + timeout.min(super::receive::LONGEST_WAIT);
        let ticket = self.waits.register(&session.agent, floor)?;
        let mut is_over = false;
        loop {
            let found = self.look(session, after, floor, max).await?;
            if !found.messages.is_empty() || is_over {
                return Ok(Seen {
                    messages: found.messages,
                    waited: begin.elapsed(),
                    remaining: found.remaining,
                    below_floor: found.below_floor,
                    tip: found.tip,
                });
            }
            is_over = tokio::time::timeout_at(deadline, ticket.woken()).await.is_err();
        }
    }
}

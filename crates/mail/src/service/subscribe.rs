//! Subscriptions: every arrival in a mailbox after a cursor, in order, without leases.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Mail;
use super::store_retry::Patience;
use super::waiters::{OnWake, Ticket};
use crate::error::{MailError, Refusal, StoreError};
use crate::model::{Floor, MessageView, Session};
use crate::store::query::Among;
use crate::store::{InTransaction, query};

/// The number of messages that are read ahead.
const AHEAD: usize = 32;
/// The kept part of each text, in bytes, so that a slow subscriber costs little memory.
const TEXT_KEPT: usize = 1024;

/// The result of a wait with a cursor.
#[derive(Debug, Clone, Default)]
pub struct ArrivalPage {
    /// Messages after the cursor, in order; empty when the time was up.
    pub messages: Vec<MessageView>,
    pub waited: Duration,
    pub remaining: u64,
    /// The number of later messages below the floor.
    pub below_floor: u64,
    pub latest_seq: u64,
}

/// All arrivals of a mailbox, in order. Nothing is leased or confirmed.
pub struct Subscription {
    mail: Arc<Mail>,
    session: Session,
    floor: Floor,
    after: u64,
    ticket: Ticket,
    read: VecDeque<MessageView>,
    /// Up to this sequence number, only messages that wait to be read are reported.
    waiting_until: u64,
}

impl Subscription {
    /// Returns the next message, with the first 1 KiB of its text. Cancel safe: nothing is skipped.
    ///
    /// # Errors
    /// When the store is unavailable; the next call continues.
    pub async fn next(&mut self) -> Result<MessageView, MailError> {
        loop {
            if let Some(message) = self.read.pop_front() {
                self.after = message.seq;
                return Ok(message);
            }
            let is_waiting = self.after < self.waiting_until;
            self.ticket.forget();
            let found = self.mail.store.query(self.fetch(if is_waiting { Among::Waiting } else { Among::All })).await?;
            self.take(found.messages);
            match (self.read.is_empty(), is_waiting) {
                // The waiting messages are reported; from here on every message is.
                (true, true) => self.after = self.waiting_until,
                (true, false) => {
                    let news = self.news().await;
                    self.take(news.map(|found| found.messages).unwrap_or_default());
                }
                (false, _) => {}
            }
        }
    }

    /// Waits for news, and reads the messages in the transaction that brings them. `None` if they must be read
    /// separately.
    async fn news(&self) -> Option<query::Fetched> {
        let (answer, mut coming) = oneshot::channel();
        self.ticket.set_on_wake(FetchOnWake { fetch: self.fetch(Among::All), answer });
        tokio::select! {
            biased;
            found = &mut coming => return found.ok(),
            () = self.ticket.woken() => {}
        }
        if self.ticket.take_on_wake() {
            return None;
        }
        coming.await.ok()
    }

    /// Returns true if a message waits to be read.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.read.is_empty()
    }

    /// Returns the cursor up to which everything was reported.
    pub fn cursor(&self) -> u64 {
        self.read.front().map_or(self.after, |next| next.seq - 1)
    }

    fn fetch(&self, among: Among) -> query::Fetch {
        let agent = self.session.agent.clone();
        query::Fetch { agent, after: self.after, floor: self.floor, among, limit: AHEAD }
    }

    fn take(&mut self, mut found: Vec<MessageView>) {
        if self.after < self.waiting_until {
            found.retain(|message| message.seq <= self.waiting_until);
        }
        for message in &mut found {
            let mut kept = message.content.len().min(TEXT_KEPT);
            while !message.content.is_char_boundary(kept) {
                kept -= 1;
            }
            message.content.truncate(kept);
            message.content.shrink_to_fit();
        }
        self.read = found.into();
    }
}

/// A read in the transaction that wakes a subscriber.
struct FetchOnWake {
    fetch: query::Fetch,
    answer: oneshot::Sender<query::Fetched>,
}

impl OnWake for FetchOnWake {
    fn in_transaction(self: Box<Self>) -> InTransaction {
        let FetchOnWake { fetch, answer } = *self;
        // The subscriber may no longer exist.
        InTransaction::query(fetch, move |found| _ = answer.send(found))
    }

    /// Drops the answer unsent, so that the subscriber reads for itself.
    fn begin(self: Box<Self>) {}
}

impl Mail {
    /// Subscribes to the caller's mailbox: messages after the cursor, then all that arrive. Without a cursor, only
    /// later arrivals.
    ///
    /// # Errors
    /// When there are too many waiters, or the store is unavailable.
    pub async fn subscribe(
        self: &Arc<Mail>,
        session: &Session,
        floor: Floor,
        after: Option<u64>,
    ) -> Result<Subscription, MailError> {
        let mut subscription = self.subscription(session, floor)?;
        let latest = self.inbox(&session.agent).await?.latest_seq;
        subscription.after = match after {
            Some(after) => known_cursor(after, latest)?,
            None => latest,
        };
        Ok(subscription)
    }

    /// Like [`Mail::subscribe`], but begins with the messages that wait to be read.
    ///
    /// # Errors
    /// When there are too many waiters, or the store is unavailable.
    pub async fn subscribe_waiting(
        self: &Arc<Mail>,
        session: &Session,
        floor: Floor,
    ) -> Result<Subscription, MailError> {
        let mut subscription = self.subscription(session, floor)?;
        let found = self.store.query(subscription.fetch(Among::Waiting)).await?;
        subscription.waiting_until = found.latest_seq;
        subscription.take(found.messages);
        if subscription.read.is_empty() {
            subscription.after = found.latest_seq;
        }
        Ok(subscription)
    }

    /// Makes a subscription. It is registered before the first read, so that no arrival is missed.
    fn subscription(self: &Arc<Mail>, session: &Session, floor: Floor) -> Result<Subscription, MailError> {
        Ok(Subscription {
            mail: Arc::clone(self),
            ticket: self.waits.register(&session.agent, floor)?,
            session: session.clone(),
            floor,
            after: 0,
            read: VecDeque::new(),
            waiting_until: 0,
        })
    }

    /// Waits until a message after the cursor is urgent enough. Nothing is leased or confirmed.
    ///
    /// # Errors
    /// When there are too many waiters, or the store is unavailable.
    pub async fn wait_after(
        &self,
        session: &Session,
        after: u64,
        floor: Floor,
        max: usize,
        timeout: Duration,
    ) -> Result<ArrivalPage, MailError> {
        let begin = Instant::now();
        let deadline = begin + timeout.min(super::receive::LONGEST_WAIT);
        let ticket = self.waits.register(&session.agent, floor)?;
        let mut is_over = false;
        loop {
            let mut patience = Patience::until(deadline);
            let found = loop {
                match self.read_mailbox(session, after, floor, max).await {
                    Err(MailError::Store(StoreError::Away { .. })) if patience.pause().await => {}
                    found => break found?,
                }
            };
            known_cursor(after, found.latest_seq)?;
            if !found.messages.is_empty() || is_over {
                return Ok(ArrivalPage {
                    messages: found.messages,
                    waited: begin.elapsed(),
                    remaining: found.remaining,
                    below_floor: found.below_floor,
                    latest_seq: found.latest_seq,
                });
            }
            is_over = tokio::time::timeout_at(deadline, ticket.woken()).await.is_err();
        }
    }
}

/// Rejects a cursor beyond the mailbox's end. Such a cursor belongs to another mailbox, for example one from before the
/// database was replaced, and waiting for it would miss mail.
fn known_cursor(after: u64, latest: u64) -> Result<u64, Refusal> {
    if after <= latest {
        return Ok(after);
    }
    let why =
        format!("is {after}, not a position in this mailbox, which ends at {latest}; start again without `after`");
    Err(Refusal::Argument { argument: "after", why })
}

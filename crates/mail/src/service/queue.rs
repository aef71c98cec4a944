//! Sending while the store is unavailable, if enabled: sends go into the [`Spool`], and from there to the store in
//! order once it is available again.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::journal::Record;

use super::Mail;
use super::send::SentMessage;
use crate::error::{MailError, Refusal, StoreError};
use crate::model::{AgentName, Clock, MessageId, Priority};
use crate::spool::Spool;
use crate::store::change::{Append, Import};

/// Pauses between two attempts: the first and the longest.
const SOON: Duration = Duration::from_millis(250);
const LATER: Duration = Duration::from_secs(5);
/// The interval at which an idle queue checks whether the mail was dropped.
const LOOK: Duration = Duration::from_secs(3600);

impl Mail {
    /// Returns the spool, if it already holds sends: a new one must follow them to keep the order.
    pub(super) fn crowded_spool(&self) -> Option<&Arc<Spool>> {
        self.spool.as_ref().filter(|spool| spool.is_crowded())
    }

    /// Puts a send into the spool, since the store is unavailable.
    pub(super) async fn queue(
        &self,
        spool: &Arc<Spool>,
        append: Append,
        away: String,
    ) -> Result<SentMessage, MailError> {
        let (spool, from) = (Arc::clone(spool), append.sender.agent.clone());
        let (id, thread) = (append.id.clone(), append.reply_to.clone());
        let put = tokio::task::spawn_blocking(move || spool.put(&append, &away)).await;
        let known = put.map_err(|error| StoreError::Failed { reason: error.to_string() })??;
        let is_replay = known.is_some();
        let id = known.unwrap_or(id);
        if !is_replay {
            self.record(|| Record::MailQueued { message: id.to_string(), from: from.to_string() });
        }
        Ok(SentMessage {
            // Only the store knows the conversation of a reply.
            thread: thread.unwrap_or_else(|| id.clone()),
            id,
            at: Clock::system().now(),
            resolved: Vec::new(),
            recipients: Vec::new(),
            failed: Vec::new(),
            is_replay,
            is_queued: true,
        })
    }

    /// Moves the spooled sends to the store, in order, until all are stored or the store is unavailable.
    async fn store_spooled_sends(&self, spool: &Arc<Spool>) -> Result<(), StoreError> {
        loop {
            let first = Arc::clone(spool);
            let first = tokio::task::spawn_blocking(move || first.first()).await;
            let first = first.map_err(|error| StoreError::Failed { reason: error.to_string() })??;
            let Some((number, append)) = first else { return Ok(()) };
            match self.store.change(append.clone()).await {
                Ok(appended) => self.record(|| Record::MailStored {
                    message: appended.id.to_string(),
                    from: append.sender.agent.to_string(),
                    recipients: appended.sent.len() as u64,
                }),
                Err(StoreError::Refused(refusal)) => self.report_undelivered(&append, &refusal).await?,
                Err(error) => return Err(error),
            }
            let done = Arc::clone(spool);
            let done = tokio::task::spawn_blocking(move || done.remove(number)).await;
            done.map_err(|error| StoreError::Failed { reason: error.to_string() })??;
        }
    }

    /// Tells a sender that a queued message cannot be delivered.
    async fn report_undelivered(&self, append: &Append, refusal: &Refusal) -> Result<(), StoreError> {
        let sender = append.sender.agent.clone();
        let id = MessageId::new(&format!("{}-report", append.id));
        let report = Import {
            // A retry would not help.
            id: id.unwrap_or_else(|_| append.id.clone()),
            sender: AgentName::system(),
            recipients: vec![(sender.clone(), false)],
            to: vec![sender.to_string()],
            content: format!("{}, queued while the mail database was away, was not sent: {refusal}.", append.id).into(),
            priority: Priority::Normal,
            reply_to: None,
            metadata: "{}".to_owned(),
            at: Clock::system().now(),
        };
        match self.store.change(report).await {
            Err(StoreError::Refused(why)) => {
                tracing::error!(message = %append.id, %refusal, %why, "a queued message was refused, and so was the report");
                Ok(())
            }
            other => other.map(drop),
        }
    }
}

/// Moves the contents of the spool to the store, for as long as the mail lives.
pub(super) fn start(mail: &Arc<Mail>) {
    let Some(spool) = mail.spool.clone() else { return };
    let weak: Weak<Mail> = Arc::downgrade(mail);
    mail.runtime.spawn(async move {
        let mut pause = SOON;
        loop {
            let Some(mail) = weak.upgrade() else { return };
            let handed_on = mail.store_spooled_sends(&spool).await;
            drop(mail);
            match handed_on {
                Ok(()) => {
                    pause = SOON;
                    let _ = tokio::time::timeout(LOOK, spool.changed()).await;
                }
                Err(error) => {
                    tracing::warn!(%error, waiting = spool.waiting(), "cannot send queued messages; retrying");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LATER);
                }
            }
        }
    });
}

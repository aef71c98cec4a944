//! The mail, opened when it is first needed.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::error::{MailError, StoreError};
use crate::service::Mail;

/// Opens the mail; called until it worked once.
pub type Opener = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Arc<Mail>, MailError>> + Send>> + Send + Sync>;

pub(super) struct LazyMail {
    open: Opener,
    mail: Mutex<Option<Arc<Mail>>>,
}

impl LazyMail {
    pub(super) fn new(open: Opener) -> LazyMail {
        LazyMail { open, mail: Mutex::default() }
    }

    /// The mail, opened if need be. What fails is tried again by the next call.
    pub(super) async fn get(&self) -> Result<Arc<Mail>, MailError> {
        let mut mail = self.mail.lock().await;
        if let Some(mail) = &*mail {
            return Ok(mail.clone());
        }
        let opened = (self.open)().await?;
        *mail = Some(opened.clone());
        Ok(opened)
    }

    pub(super) async fn opened(&self) -> Option<Arc<Mail>> {
        self.mail.lock().await.clone()
    }

    /// Whether the mail was opened, as far as can be told without waiting.
    pub(super) fn is_open(&self) -> bool {
        self.mail.try_lock().is_ok_and(|mail| mail.is_some())
    }
}

/// The error of an opening that failed before any store was asked.
pub fn away(reason: impl ToString) -> MailError {
    MailError::Store(StoreError::Away { reason: reason.to_string() })
}

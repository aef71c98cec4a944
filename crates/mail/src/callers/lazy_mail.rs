//! The mail, opened on first use.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::error::{MailError, StoreError};
use crate::service::Mail;

/// Opens the mail; called again until it succeeds.
pub type Opener = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Arc<Mail>, MailError>> + Send>> + Send + Sync>;

pub(super) struct LazyMail {
    open: Opener,
    mail: Mutex<Option<Arc<Mail>>>,
}

impl LazyMail {
    pub(super) fn new(open: Opener) -> LazyMail {
        LazyMail { open, mail: Mutex::default() }
    }

    /// Returns the mail, opened if necessary. After a failure, the next call tries again.
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

    /// Returns the mail if it is known to be open. Does not wait.
    pub(super) fn get_if_open(&self) -> Option<Arc<Mail>> {
        self.mail.try_lock().ok()?.clone()
    }

    /// Returns true if the mail is known to be open. Does not wait.
    pub(super) fn is_open(&self) -> bool {
        self.mail.try_lock().is_ok_and(|mail| mail.is_some())
    }
}

/// Returns the error for mail that could not be opened before any store was asked.
pub fn unavailable_error(reason: impl ToString) -> MailError {
    MailError::Store(StoreError::Away { reason: reason.to_string() })
}

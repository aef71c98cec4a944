//! A message that the person writes to agents.

use project::dashboard::{MailRow, USER};
use serde_json::{Value, json};

/// The group of all agents.
pub(crate) const EVERYONE: &str = "everyone";
/// The priorities, least urgent first.
pub(crate) const PRIORITIES: [&str; 4] = ["low", "normal", "high", "critical"];

/// A message that is not sent yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Letter {
    /// Names, roles (`role:X`) and groups (`group:X`, `everyone`), with commas or spaces between them.
    pub to: String,
    pub text: String,
    pub priority: String,
    /// The message that it answers.
    pub reply_to: Option<String>,
}

impl Letter {
    /// Returns an empty message to these recipients.
    pub(crate) fn new(to: &str) -> Letter {
        Letter { to: to.to_owned(), text: String::new(), priority: "normal".to_owned(), reply_to: None }
    }

    /// Returns an empty answer. Only messages from or to the person can be answered in their thread; for others it is a
    /// new message to the author.
    pub(crate) fn answer(message: &MailRow) -> Letter {
        let names: Vec<&str> = match message.from.as_str() {
            USER => message.to.iter().map(|to| to.name.as_str()).collect(),
            // A report of hob has no author who could read an answer.
            "hob" => Vec::new(),
            author => vec![author],
        };
        let is_own = message.from == USER || message.to.iter().any(|to| to.name == USER);
        Letter { reply_to: is_own.then(|| message.id.clone()), ..Letter::new(&names.join(", ")) }
    }

    /// Returns the recipients.
    pub(crate) fn recipients(&self) -> Vec<&str> {
        self.to.split([',', ' ']).filter(|name| !name.is_empty()).collect()
    }

    /// Returns the parameters of `mail/write`.
    ///
    /// # Errors
    /// A sentence if the recipient or the text is missing.
    pub(crate) fn params(&self) -> Result<Value, &'static str> {
        let to = self.recipients();
        if to.is_empty() {
            return Err("the message needs a recipient");
        }
        if self.text.trim().is_empty() {
            return Err("the message has no text");
        }
        Ok(json!({"to": to, "content": self.text, "priority": self.priority, "reply_to": self.reply_to}))
    }
}

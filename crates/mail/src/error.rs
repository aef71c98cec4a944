//! The errors of mail, with the next step for each. A refusal has changed nothing. `failed` turns an error into a
//! tool's answer.

use std::fmt::Display;
use std::path::PathBuf;

use mcp::tool::ToolError;

use crate::framing::escaped;
use crate::model::{AddressError, AgentName, Holder, MessageId, NameError};

/// Why a store did not apply a change or run a query, or does not know whether it did.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The change is not allowed. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store is unavailable. Nothing has changed; the same call may succeed later.
    #[error("the mail store is unavailable: {reason}")]
    Away {
        /// The engine's message.
        reason: String,
    },
    /// The store became unavailable midway, so the change may or may not have happened. Repeating it is safe.
    #[error("the mail store became unavailable before it answered: {reason}")]
    Uncertain {
        /// The engine's message.
        reason: String,
    },
    /// No room on the disk. Nothing has changed.
    #[error("the disk of the mail store is full")]
    DiskFull,
    /// The store is read-only. Nothing has changed.
    #[error("the mail store is read-only: {reason}")]
    ReadOnly {
        /// The engine's message.
        reason: String,
    },
    /// Another process holds the store. Nothing has changed.
    #[error("another process has locked the mail store")]
    Locked,
    /// The store was written by a newer version.
    #[error("the mail store has schema version {found}; this version of hob knows up to {known}")]
    Newer {
        /// The file's version.
        found: i64,
        /// The newest version that this hob knows.
        known: i64,
    },
    /// The file was removed or replaced while it was open. Nothing has changed.
    #[error("the file of the mail store was removed or replaced while it was open")]
    Gone,
    /// The store is damaged, or the file is not a store.
    #[error("the mail store is corrupt, or the file is not a mail store: {reason}")]
    Corrupt {
        /// The engine's message.
        reason: String,
    },
    /// The configured address of the database is invalid.
    #[error("the address of the mail database is invalid; write postgres://HOST/DATABASE")]
    Address,
    /// A database is configured, and this build has no engine for it.
    #[cfg(not(feature = "postgres"))]
    #[error("this build of hob has no PostgreSQL support, but an address of a mail database is configured")]
    NoPostgres,
    /// Something else is at the file's path. Nothing was opened.
    #[error("{} {what}", path.display())]
    Strange {
        path: PathBuf,
        /// The kind of file.
        what: &'static str,
        /// The next step for the user.
        next: String,
    },
    /// The configured store or space is not the one that was used last.
    #[error("this project's mail is in {former}, but {now} is configured")]
    Elsewhere {
        former: String,
        now: String,
        /// The next steps for the user.
        next: Vec<String>,
    },
    /// A fault of this program.
    #[error("the mail store failed: {reason}")]
    Failed {
        /// The engine's message.
        reason: String,
    },
}

/// Why a call is refused. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("unknown recipient {address:?}: no agent, group or role has this name")]
    UnknownRecipient { address: String, nearest: Vec<String> },
    #[error("{address:?} reaches only its own sender")]
    NoRecipients { address: String },
    #[error("too many recipients: {count}; the limit is {limit}")]
    TooManyRecipients { count: usize, limit: usize },
    #[error("too many recipients for a broadcast: {count}; the limit is {limit}")]
    BroadcastTooWide { count: usize, limit: usize },
    #[error("the message has no text")]
    NoText,
    #[error("the text is too long: {bytes} bytes; the limit is {limit}")]
    BodyTooLarge { bytes: usize, limit: usize },
    #[error("the metadata is too large: {bytes} bytes as JSON; the limit is {limit}")]
    MetadataTooLarge { bytes: usize, limit: usize },
    #[error("the mailbox of {} is full", names(agents))]
    MailboxFull { agents: Vec<AgentName> },
    #[error("the key {key:?} was used for another message, {message}")]
    KeyConflict { key: String, message: MessageId },
    #[error("the name {agent} was taken over{}", holder.as_ref().map(|by| format!(" by {by}")).unwrap_or_default())]
    Fenced { agent: AgentName, holder: Option<Holder> },
    #[error("the name {agent} belongs to {holder}; the caller is {asked}")]
    Held { agent: AgentName, holder: Holder, asked: Holder },
    #[error("unknown agent {name:?}")]
    UnknownAgent { name: String, nearest: Vec<String> },
    #[error("the agent {agent} already has this name")]
    SameName { agent: AgentName },
    #[error("the agent {agent} already exists")]
    AgentExists { agent: AgentName },
    #[error("unknown message {id}: {agent} neither wrote nor received it")]
    UnknownMessage { id: MessageId, agent: AgentName },
    #[error("unknown group {name:?}")]
    UnknownGroup { name: String, nearest: Vec<String> },
    #[error("the group {name:?} already exists")]
    GroupExists { name: String },
    #[error("the group {name:?} is protected")]
    GroupProtected { name: String },
    #[error("the id {alias:?} belongs to the agent {agent}")]
    AliasTaken { alias: String, agent: AgentName },
    #[error("the limit of {limit} {what} is reached")]
    TooMany { what: &'static str, limit: u64 },
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("`{argument}` {why}")]
    Argument { argument: &'static str, why: String },
}

fn names(agents: &[AgentName]) -> String {
    agents.iter().take(5).map(AgentName::as_str).collect::<Vec<_>>().join(", ")
}

/// The error of an operation of [`crate::Mail`]. [`MailError::hints`] returns the next steps.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MailError {
    /// The change is not allowed. Nothing has changed.
    #[error(transparent)]
    Refused(Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for MailError {
    fn from(error: StoreError) -> MailError {
        match error {
            StoreError::Refused(refusal) => MailError::Refused(refusal),
            other => MailError::Store(other),
        }
    }
}

impl<E: Into<Refusal>> From<E> for MailError {
    fn from(refusal: E) -> MailError {
        MailError::Refused(refusal.into())
    }
}

impl MailError {
    /// Returns true if the same call may succeed later, unchanged.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            MailError::Store(StoreError::Away { .. } | StoreError::Uncertain { .. } | StoreError::Locked)
                | MailError::Refused(Refusal::MailboxFull { .. })
        )
    }

    /// Returns the next steps: sentences that each name a tool, an argument or a setting.
    pub fn hints(&self) -> Vec<String> {
        match self {
            MailError::Refused(refusal) => refusal.hints(),
            MailError::Store(error) => error.hints(),
        }
    }
}

impl StoreError {
    /// Returns true if the store can still be read.
    pub(crate) fn is_unwritable(&self) -> bool {
        matches!(self, StoreError::DiskFull | StoreError::ReadOnly { .. } | StoreError::Locked)
    }

    /// Returns the next steps.
    pub fn hints(&self) -> Vec<String> {
        let hint = match self {
            StoreError::Refused(refusal) => return refusal.hints(),
            StoreError::Strange { next, .. } => next,
            StoreError::Elsewhere { next, .. } => return next.clone(),
            StoreError::Away { .. } => "Nothing was stored. Try again later; sending is safe to repeat.",
            StoreError::Uncertain { .. } => {
                "The change may have happened. Repeat the call with the same idempotency_key: it takes effect only once. Without a key, check first with delivery_status and the message's id whether it was stored."
            }
            StoreError::DiskFull => "Nothing was stored or lost. Free space on the disk, then try again.",
            StoreError::ReadOnly { .. } => {
                "Nothing was stored. Make the project's state directory writable for this user (`hob doctor` names it), then try again."
            }
            StoreError::Locked => {
                "Nothing was stored. Try again; if this repeats, find the process that has mail.db open."
            }
            StoreError::Newer { .. } => "Nothing was changed. Update hob: a newer version has written the store.",
            StoreError::Gone => {
                "Nothing was stored. Put mail.db back into the project's state directory if you have it (`hob doctor` names it); `hob stop`, and the next call uses it. Without a copy, `hob mail switch` creates an empty store."
            }
            StoreError::Corrupt { .. } => {
                "Nothing was changed. Move mail.db in the project's state directory aside (`hob doctor` names it), with its -wal and -shm files, to start with an empty one; keep it, since `sqlite3 mail.db .recover` may save its contents."
            }
            #[cfg(not(feature = "postgres"))]
            StoreError::NoPostgres => {
                "Install a build with the feature `postgres`, which is on by default; or remove the address from HOB_MAIL_DATABASE, your config.toml or mail-database in the state directory; then `hob stop`."
            }
            StoreError::Address => {
                "Correct it in HOB_MAIL_DATABASE, your config.toml or mail-database in the state directory; `hob stop`, then call again."
            }
            StoreError::Failed { .. } => "This is a fault of hob; its log (`hob status` names it) has details.",
        };
        vec![hint.to_owned()]
    }
}

impl Refusal {
    /// Returns the next steps.
    pub fn hints(&self) -> Vec<String> {
        let hint = match self {
            Refusal::UnknownRecipient { nearest, .. } | Refusal::UnknownAgent { nearest, .. } if !nearest.is_empty() => {
                format!("Nearest: {}. list_agents and groups (action list) show all.", nearest.join(", "))
            }
            Refusal::UnknownRecipient { .. } | Refusal::UnknownAgent { .. } => {
                "list_agents and groups (action list) show all names.".to_owned()
            }
            Refusal::NoRecipients { .. } => {
                "A message to a group, a role or everyone never reaches its own sender; list_agents shows the others."
                    .to_owned()
            }
            Refusal::TooManyRecipients { .. } => "Send it in parts, to smaller groups.".to_owned(),
            Refusal::BroadcastTooWide { .. } => {
                "Send to a group or a role instead, or raise `broadcast_max` under [mail] in hob.toml.".to_owned()
            }
            Refusal::NoText => {
                "Write in `content` all that the reader needs: it sees nothing of your conversation.".to_owned()
            }
            Refusal::BodyTooLarge { .. } => "Write it to a file and send the path.".to_owned(),
            Refusal::MetadataTooLarge { .. } => "Put the rest into `content`.".to_owned(),
            Refusal::MailboxFull { .. } => {
                "It was not sent. The recipient has to read its mail (check_messages) first; try again later, or ask another agent."
                    .to_owned()
            }
            Refusal::KeyConflict { message, .. } => format!(
                "Use a new idempotency_key for a new message; delivery_status shows the state of {message}."
            ),
            Refusal::Fenced { agent, .. } => format!(
                "Another process now uses the name {agent}. Choose another name with register_agent, or take it back \
                 with --takeover: `hob quickstart --name {agent} --role ROLE --takeover`."
            ),
            Refusal::Held { agent, .. } => format!(
                "Choose another name with register_agent, or, if the other holder no longer exists, take {agent} over with --takeover: `hob quickstart --name {agent} --role ROLE --takeover`."
            ),
            Refusal::SameName { .. } => "Choose another name.".to_owned(),
            Refusal::AgentExists { agent } => {
                format!("Choose another name; `hob agents forget {agent}` removes an agent that is no longer needed.")
            }
            Refusal::UnknownMessage { .. } => {
                "Only its author and its recipients can see a message; check_messages and search_messages show ids."
                    .to_owned()
            }
            Refusal::UnknownGroup { nearest, .. } if !nearest.is_empty() => {
                format!("Nearest: {}. groups (action list) shows all.", nearest.join(", "))
            }
            Refusal::UnknownGroup { .. } => {
                "groups (action list) shows all; groups (action create) creates one.".to_owned()
            }
            Refusal::GroupExists { .. } => {
                "groups (action show) shows its members; groups (action add) adds to it.".to_owned()
            }
            Refusal::GroupProtected { .. } => "It always contains all agents and cannot be changed.".to_owned(),
            Refusal::AliasTaken { .. } => "An imported id belongs to one agent.".to_owned(),
            Refusal::TooMany { .. } => "Delete unneeded ones.".to_owned(),
            Refusal::Name(error) => error.hint(),
            Refusal::Address(_) => {
                "Write a name, role:X, group:X or everyone; list_agents and groups (action list) show names.".to_owned()
            }
            // The message has the limits.
            Refusal::Argument { .. } => return Vec::new(),
        };
        vec![hint]
    }
}

/// Returns the error as a tool's answer: the error, then the next steps.
pub(crate) fn failed(error: impl Into<MailError>) -> ToolError {
    let error = error.into();
    refused(&error, error.hints())
}

/// Returns an answer with the error, then the next steps. Both may quote text of agents, so control characters are
/// escaped.
pub(crate) fn refused(error: impl Display, hints: Vec<String>) -> ToolError {
    let mut text = escaped(&error.to_string());
    // Errors are written as parts of sentences, so the first letter is capitalized; an argument's name stays unchanged.
    let is_name = text.split([' ', ':']).next().is_some_and(|word| word.contains('_'));
    if let Some(first) = text.get(..1).filter(|_| !is_name) {
        text = first.to_uppercase() + &text[1..];
    }
    hints.iter().fold(ToolError::user(format!("{text}.")), |refusal, hint| refusal.hint(escaped(hint)))
}

//! The formats of agents' files: reads a value, and adds our entry without changing any other byte.

use serde_json::Value;

use super::{Entry, Scope, jsonc, toml};

/// The format of a list of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON; `key` holds the servers by name.
    Json { key: &'static str, shape: Shape, allows: Allows },
    /// TOML; `table` holds the servers by name.
    Toml { table: &'static str },
}

/// The shape of an entry in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A command and its arguments.
    Plain,
    /// A command, its arguments and the transport.
    Typed,
    /// A list with the command and its arguments, and the type of server.
    List,
}

/// The extensions of JSON that an agent's parser accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allows {
    /// Plain JSON: with a comment, the agent rejects the whole file.
    Nothing,
    Comments,
    CommentsAndTrailingCommas,
}

/// The result of adding our entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// Our entry already exists.
    Already(Entry),
    /// Another entry uses our name.
    Taken(Entry),
    /// The file's new text.
    Text(String),
}

/// The reason why a file was left alone.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    /// The file does not parse.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
        /// The parser's message.
        message: String,
    },
    /// The file parses, but the key for servers holds something else.
    #[error("`{0}` is not a table of servers")]
    Shape(String),
    /// The file parses, but the key for hooks holds something else.
    #[error("`{0}` is not a list of hooks in this agent's format")]
    NoHooks(String),
    /// Another author's file has the name of the file that hob would write.
    #[error("a file that hob did not write has the name of hob's file")]
    Foreign,
    /// The file parses, but has two entries of the same name, and parsers may use either.
    #[error("`{0}` is defined twice")]
    Twice(String),
}

impl Broken {
    pub(super) fn at(text: &str, offset: usize, message: impl Into<String>) -> Broken {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Broken::Syntax {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }
}

impl Format {
    /// Adds the entry to the text of a file (empty for a new file). Keeps all other bytes.
    pub(crate) fn add(self, text: &str, entry: &Entry, scope: Scope) -> Result<Added, Broken> {
        if let Some(present) = self.entry(text)? {
            return Ok(if present.is_hob(scope) { Added::Already(present) } else { Added::Taken(present) });
        }
        match self {
            Format::Json { key, shape, allows } => jsonc::add(text, key, shape, allows, entry),
            Format::Toml { table } => toml::add(text, table, entry),
        }
        .map(Added::Text)
    }

    /// Replaces the arguments of our entry. Keeps all other bytes.
    pub(crate) fn set_args(self, text: &str, entry: &Entry) -> Result<String, Broken> {
        match self {
            Format::Json { key, shape, allows } => jsonc::set_args(text, key, shape, allows, entry),
            Format::Toml { table } => toml::set_args(text, table, entry),
        }
    }

    /// Returns the text without our entry; `None` if there is no entry.
    pub(crate) fn remove(self, text: &str) -> Result<Option<String>, Broken> {
        if !self.entry(text)?.is_some_and(|entry| entry.is_named_hob()) {
            return Ok(None);
        }
        match self {
            Format::Json { key, allows, .. } => jsonc::remove(text, key, allows),
            Format::Toml { table } => toml::remove(text, table),
        }
        .map(Some)
    }

    /// Returns the entry under our name, whether or not it is ours.
    pub(crate) fn entry(self, text: &str) -> Result<Option<Entry>, Broken> {
        match self {
            Format::Json { key, allows, .. } => jsonc::entry(text, &[key], allows),
            Format::Toml { table } => toml::entry(text, table),
        }
    }

    /// Parses the whole file.
    pub(crate) fn value(self, text: &str) -> Result<Value, Broken> {
        match self {
            Format::Json { allows, .. } => jsonc::value(text, allows),
            Format::Toml { .. } => toml::value_of(text),
        }
    }

    /// Returns the name of the field that holds the servers.
    pub(crate) fn servers(self) -> &'static str {
        match self {
            Format::Json { key, .. } => key,
            Format::Toml { table } => table,
        }
    }
}

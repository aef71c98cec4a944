//! The errors of tools: failures that the caller can act on, and internal errors.

use std::error::Error;
use std::fmt;

/// A tool's failure.
#[derive(Debug)]
pub enum ToolError {
    /// A failure that the caller can act on. Becomes a result with `isError`: what happened, then what to do next.
    User {
        /// What happened, as a sentence.
        message: String,
        /// What to do next, a sentence each, which names a tool or an argument.
        hints: Vec<String>,
    },
    /// An internal error. Logged with its chain of causes; the caller gets a short text with an id that is in the log.
    Internal(Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// A failure that the caller can act on.
    pub fn user(message: impl Into<String>) -> ToolError {
        ToolError::User { message: message.into(), hints: Vec::new() }
    }

    /// Adds a hint. Internal errors take none.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> ToolError {
        if let ToolError::User { hints, .. } = &mut self {
            hints.push(hint.into());
        }
        self
    }

    /// An internal error.
    pub fn internal(error: impl Into<Box<dyn Error + Send + Sync>>) -> ToolError {
        ToolError::Internal(error.into())
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolError::User { message, hints } => {
                f.write_str(message)?;
                hints.iter().try_for_each(|hint| write!(f, "\n{hint}"))
            }
            ToolError::Internal(error) => write!(f, "internal error: {error}"),
        }
    }
}

impl Error for ToolError {}

//! The errors of tools: failures that the caller can act on, and internal errors.

use std::error::Error;
use std::fmt;

use super::AskError;

/// A tool's failure.
#[derive(Debug)]
pub enum ToolError {
    /// A failure that the caller can act on. Becomes a result with `isError`: the error, then the next steps.
    User {
        /// The error, as a sentence.
        message: String,
        /// The next steps, a sentence each, which names a tool or an argument.
        hints: Vec<String>,
    },
    /// A question that had no answer. Becomes a result with `isError`; but [`AskError::Unsupported`] becomes the error that
    /// names the capabilities which the client lacks, in the revisions that have one.
    Unanswered(AskError),
    /// An internal error. Logged with its chain of causes; the caller gets a short text with an id that is in the log.
    Internal(Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// Returns a failure that the caller can act on.
    pub fn user(message: impl Into<String>) -> ToolError {
        ToolError::User { message: message.into(), hints: Vec::new() }
    }

    /// Adds a hint. Internal errors take none.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> ToolError {
        match self {
            ToolError::User { message, mut hints } => {
                hints.push(hint.into());
                ToolError::User { message, hints }
            }
            // There is something to do without an answer.
            ToolError::Unanswered(error) => ToolError::user(error.to_string()).hint(hint),
            ToolError::Internal(_) => self,
        }
    }

    /// Returns an internal error.
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
            ToolError::Unanswered(error) => error.fmt(f),
            ToolError::Internal(error) => write!(f, "internal error: {error}"),
        }
    }
}

impl Error for ToolError {}

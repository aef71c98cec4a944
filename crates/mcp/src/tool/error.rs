//! How a tool fails: in a way its caller can act on, or by a fault of ours.

use std::error::Error;
use std::fmt;

/// A tool's failure.
#[derive(Debug)]
pub enum ToolError {
    /// The caller can do something about it. Becomes a result with `isError`: what happened, then what to do next.
    User {
        /// What happened, as a sentence.
        message: String,
        /// What to do next, each a sentence that names a tool or an argument.
        hints: Vec<String>,
    },
    /// A fault of ours. Logged with its chain; the caller gets a short text and an id to find it by.
    Internal(Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// A failure the caller can act on.
    pub fn user(message: impl Into<String>) -> ToolError {
        ToolError::User { message: message.into(), hints: Vec::new() }
    }

    /// The same with one more hint. Internal faults take none.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> ToolError {
        if let ToolError::User { hints, .. } = &mut self {
            hints.push(hint.into());
        }
        self
    }

    /// A fault of ours.
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
